/** Why messages of the languages could not be taken, and how many causes of all kinds ask for a person. */
import { useGet } from "../api/cache";
import type { FailedCauses } from "../api/types";
import { LANGUAGES } from "../languages";
import { may, seesWholeTenant, useSession } from "../shell/session";
import { useWords } from "../words";
import { ofMessages, type LetterCause } from "./causes";

/** The messages of one language that nobody could take; the languages never change, so neither do the hooks. */
export function useMessageCauses(): LetterCause[] {
  const { t } = useWords();
  const { me } = useSession();
  return LANGUAGES.flatMap((language) => {
    const parts = language.letters;
    const wanted = parts && may(me, parts.permission) && seesWholeTenant(me) ? parts.path : null;
    const { data } = useGet<unknown>(wanted);
    return parts && data !== undefined ? ofMessages(language.name, parts, parts.read(data, t)) : [];
  });
}

/** Causes, never letters: a thousand that failed alike are one thing to look at. */
export function useCauseCount(): number {
  const { me } = useSession();
  const { data } = useGet<FailedCauses>(may(me, "ops.read") ? "/dead-letters" : null);
  return (data?.causes ?? 0) + useMessageCauses().length;
}
