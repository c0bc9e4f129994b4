/** Times, durations and numbers in the reader's locale and the tenant's time zone. */
import type { Dictionary } from "./ko";

export type Locale = "ko" | "en";

export class Format {
  private readonly clockOf: Intl.DateTimeFormat;
  private readonly secondsOf: Intl.DateTimeFormat;
  private readonly dayOf: Intl.DateTimeFormat;
  private readonly yearOf: Intl.DateTimeFormat;
  private readonly numberOf: Intl.NumberFormat;
  private readonly keyOf: Intl.DateTimeFormat;
  private readonly weekdayOf: Intl.DateTimeFormat;
  private readonly rangeOf: Intl.DateTimeFormat;

  constructor(readonly locale: Locale, readonly zone: string, private readonly t: Dictionary) {
    const tag = locale === "ko" ? "ko-KR" : "en-US";
    const at = (options: Intl.DateTimeFormatOptions) => new Intl.DateTimeFormat(tag, { timeZone: zone, hourCycle: "h23", ...options });
    this.clockOf = at({ hour: "2-digit", minute: "2-digit" });
    this.secondsOf = at({ hour: "2-digit", minute: "2-digit", second: "2-digit" });
    this.dayOf = at({ month: locale === "ko" ? "long" : "short", day: "numeric", weekday: "short" });
    this.yearOf = at({ year: "numeric", month: locale === "ko" ? "long" : "short", day: "numeric" });
    this.weekdayOf = at({ weekday: "long" });
    this.rangeOf = at({ month: locale === "ko" ? "long" : "short", day: "numeric" });
    this.keyOf = new Intl.DateTimeFormat("sv-SE", { timeZone: zone });
    this.numberOf = new Intl.NumberFormat(tag, { maximumFractionDigits: 1 });
  }

  /** 14:22 */
  clock(time: string | number | Date): string {
    return this.clockOf.format(new Date(time));
  }

  /** 14:22:47 */
  seconds(time: string | number | Date): string {
    return this.secondsOf.format(new Date(time));
  }

  /** :47.12, the way facts of one minute are read. */
  beat(time: string): string {
    const date = new Date(time);
    return `:${String(date.getUTCSeconds()).padStart(2, "0")}.${String(Math.floor(date.getUTCMilliseconds() / 10)).padStart(2, "0")}`;
  }

  /** 11월 16일 (월) · Mon, Nov 16 */
  day(time: string | number | Date): string {
    const date = new Date(time);
    return this.keyOf.format(date).slice(0, 4) === this.keyOf.format(new Date()).slice(0, 4) ? this.dayOf.format(date) : this.yearOf.format(date);
  }

  dayTime(time: string | number | Date): string {
    return this.locale === "ko" ? `${this.day(time)} ${this.clock(time)}` : `${this.day(time)}, ${this.clock(time)}`;
  }

  /** 11월 9일~15일 · Nov 9 – 15 */
  days(from: string | number | Date, to: string | number | Date): string {
    return this.rangeOf.formatRange(new Date(from), new Date(to));
  }

  /** Days between now and then on the tenant's calendar. */
  daysAhead(time: string | number | Date, now: number): number {
    const at = (date: Date) => Date.parse(`${this.keyOf.format(date)}T00:00:00Z`);
    return Math.round((at(new Date(time)) - at(new Date(now))) / 86_400_000);
  }

  weekday(time: string | number | Date): string {
    return this.weekdayOf.format(new Date(time));
  }

  /** The clock when it is today, else day and clock. */
  when(time: string | number | Date, now: number): string {
    return this.daysAhead(time, now) === 0 ? this.clock(time) : this.dayTime(time);
  }

  /** Within a day "22분 전", then the day and time. */
  ago(time: string, now: number): string {
    const passed = now - Date.parse(time);
    if (passed < 5000 && passed > -5000) return this.t.justNow;
    if (passed >= 0 && passed < 86_400_000) return this.t.ago(this.duration(passed, 1));
    return this.dayTime(time);
  }

  /** KST, UTC+2 … */
  zoneName(): string {
    const parts = new Intl.DateTimeFormat("en-US", { timeZone: this.zone, timeZoneName: "short" }).formatToParts(new Date());
    const name = parts.find((part) => part.type === "timeZoneName")?.value ?? this.zone;
    return this.zone === "Asia/Seoul" ? "KST" : name;
  }

  /** What a pointer over a time shows: the viewer's zone, UTC, ISO. */
  title(time: string): string {
    const date = new Date(time);
    return `${date.toLocaleString()} · ${date.toUTCString()} · ${date.toISOString()}`;
  }

  /** 2026-11-16T14:22 in the tenant's zone, as a field for dates has it. */
  field(time: string | number): string {
    const parts = new Intl.DateTimeFormat("sv-SE", { timeZone: this.zone, dateStyle: "short", timeStyle: "short" }).format(new Date(time));
    return parts.replace(" ", "T").slice(0, 16);
  }

  /** The moment that such a field means. */
  fromField(text: string): string | null {
    const wanted = Date.parse(`${text}:00Z`);
    if (Number.isNaN(wanted)) return null;
    const off = (at: number) => Date.parse(`${this.field(at)}:00Z`) - at;
    const near = wanted - off(wanted);
    return new Date(wanted - off(near)).toISOString(); // twice: the clocks may change in between
  }

  /** Two units at most: 1시간 37분, 21.4초, 40 ms. */
  duration(ms: number, units = 2): string {
    const d = this.t.duration;
    const abs = Math.max(0, ms);
    if (abs < 1000) return d.ms(String(Math.round(abs)));
    if (abs < 60_000) {
      const seconds = abs / 1000;
      return d.s(units > 1 && seconds < 100 && seconds % 1 >= 0.05 ? seconds.toFixed(1) : String(Math.floor(seconds)));
    }
    const steps: [number, (n: string) => string][] = [[86_400_000, d.d], [3_600_000, d.h], [60_000, d.min], [1000, d.s]];
    const out: string[] = [];
    let rest = Math.floor(abs / 1000) * 1000;
    for (const [size, word] of steps) {
      const n = Math.floor(rest / size);
      if (n === 0 && out.length === 0) continue;
      if (n > 0) out.push(word(String(n)));
      rest -= n * size;
      if (out.length === units || (out.length > 0 && n === 0)) break;
    }
    return out.join(" ");
  }

  /** 2.4 MiB */
  bytes(size: number): string {
    const units = ["B", "KiB", "MiB", "GiB", "TiB"];
    const power = size < 1 ? 0 : Math.min(units.length - 1, Math.floor(Math.log2(size) / 10));
    return `${this.number(size / 1024 ** power)} ${units[power]}`;
  }

  number(value: number): string {
    return this.numberOf.format(value);
  }
}
