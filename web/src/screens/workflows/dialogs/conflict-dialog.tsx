import { useState } from "react";
import { useSession } from "../../../api/session";
import type { Definition } from "../../../parts/graph/definition";
import { text } from "../../../text";
import { Button } from "../../../ui/button";
import { Dialog } from "../../../ui/dialog";
import type { Saving } from "../editor/saving";
import styles from "./dialogs.module.css";
import { DifferenceView } from "./difference-view";

const words = text.workflows.conflict;

/** Somebody saved the same draft meanwhile: one of the two stays. */
export function ConflictDialog({ saving, definition }: { saving: Saving; definition: Definition }) {
  const { user } = useSession();
  const [busy, setBusy] = useState(false);
  const { theirs } = saving;
  const settle = (keep: "mine" | "theirs") => {
    setBusy(true);
    void saving.settle(keep).finally(() => setBusy(false));
  };
  const by = theirs?.savedBy ?? "";
  const actions = (
    <>
      <Button busy={busy} onClick={() => settle("theirs")}>
        {words.theirs}
      </Button>
      <Button kind="primary" busy={busy} onClick={() => settle("mine")}>
        {words.mine}
      </Button>
    </>
  );
  return (
    <Dialog open wide onClose={() => undefined} title={words.title} about={words.about(by, by === user.email)} actions={actions}>
      <div className={styles.publish}>
        <h3>{words.difference}</h3>
        {theirs && <DifferenceView before={theirs.definition} after={definition} empty={text.workflows.detail.same} />}
      </div>
    </Dialog>
  );
}
