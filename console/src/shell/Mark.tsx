/** The logo: a gate above water. */
import type { ReactNode } from "react";

export function Mark({ size = 24 }: { size?: number }): ReactNode {
  return (
    <svg width={size} height={size} viewBox="0 0 24 24" aria-hidden>
      <rect width="24" height="24" rx="6" fill="var(--accent)" />
      <g fill="none" stroke="var(--on-accent)" strokeLinecap="round" strokeLinejoin="round">
        <path d="M7 12.400V6.300C7 5.600 7.600 5 8.300 5h7.400c.7 0 1.300.6 1.300 1.300v6.100" strokeWidth="1.800" />
        <path d="M9.700 8.700h4.600" strokeWidth="1.800" />
        <path d="M5.500 15.600c1.600 0 1.600-1.100 3.250-1.100S10.400 15.600 12 15.600s1.600-1.100 3.250-1.100 1.650 1.100 3.250 1.100M5.500 18.800c1.600 0 1.600-1.100 3.250-1.100s1.650 1.100 3.250 1.100 1.600-1.100 3.250-1.100 1.650 1.100 3.250 1.100" strokeWidth="1.600" />
      </g>
    </svg>
  );
}
