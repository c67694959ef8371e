import type { UserLink } from "@tidings/client";
import { text } from "../../text";
import { Time } from "../../ui/time";
import { OnceDialog } from "./once-dialog";

const words = text.people.link;

/** A one-time link, to be handed over. */
export function LinkDialog({ made, onClose }: { made: UserLink; onClose: () => void }) {
  return (
    <OnceDialog
      title={words.title}
      about={words.about}
      label={words.label(made.user.name)}
      value={made.link}
      note={
        <>
          {words.until} <Time at={made.expiresAt} exact />
        </>
      }
      done={words.done}
      onClose={onClose}
    />
  );
}
