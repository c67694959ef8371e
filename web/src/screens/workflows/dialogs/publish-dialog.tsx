import { useState } from "react";
import { ApiError } from "../../../api/problem";
import { invalidate } from "../../../api/queries";
import { type Definition, EMPTY } from "../../../parts/graph/definition";
import { text } from "../../../text";
import { Button } from "../../../ui/button";
import { Dialog } from "../../../ui/dialog";
import { Problem } from "../../../ui/problem";
import { toast } from "../../../ui/toast";
import { type Publication, publishDraft, useVersions, type Version } from "../api";
import type { Saving } from "../editor/saving";
import styles from "./dialogs.module.css";
import { DifferenceView } from "./difference-view";

const words = text.workflows.publish;

interface PublishDialogProps {
  id: string;
  name: string;
  definition: Definition;
  problems: number;
  saving: Saving;
  onClose: () => void;
  onProblems: () => void;
  onPublished: (publication: Publication) => void;
}

/** What publishing changes, and whom it does not concern: those who are under way. */
export function PublishDialog(props: PublishDialogProps) {
  const { id, name, definition, problems, saving, onClose, onProblems, onPublished } = props;
  const { versions = [] } = useVersions(id);
  const [newest] = versions;
  const { publish, busy, problem } = usePublishing(props);
  const isOutdated = newest !== undefined && saving.base < newest.number;
  if (isOutdated) return <OutdatedDialog {...props} newest={newest} />;
  const actions = (
    <>
      <Button onClick={onClose}>{text.common.cancel}</Button>
      {problems > 0 ? (
        <Button kind="primary" onClick={onProblems}>
          {words.problems(problems)}
        </Button>
      ) : (
        <Button kind="primary" busy={busy} autoFocus onClick={() => void publish().then((done) => done && onPublished(done))}>
          {words.verb}
        </Button>
      )}
    </>
  );
  return (
    <Dialog open wide onClose={onClose} title={words.title(name)} about={newest ? words.about(newest.number + 1) : words.first} actions={actions}>
      <div className={styles.publish}>
        {newest && <InFlight versions={versions} />}
        <DifferenceView before={newest?.definition ?? EMPTY} after={definition} empty={words.unchanged} />
        {problem !== null && <Problem error={problem} />}
      </div>
    </Dialog>
  );
}

function usePublishing({ id, saving, name }: PublishDialogProps) {
  const [busy, setBusy] = useState(false);
  const [problem, setProblem] = useState<unknown>(null);
  const publish = async (): Promise<Publication | undefined> => {
    setBusy(true);
    setProblem(null);
    try {
      const revision = await saving.flush();
      if (revision === undefined) return undefined;
      const done = await publishDraft(id, revision);
      toast(words.done(name, done.version), done.notReady.length ? { detail: words.notReady(done.notReady.join(", ")), bad: true } : {});
      return done;
    } catch (error) {
      setProblem(error);
      if (error instanceof ApiError && error.status === 409) await invalidate(`/v1/workflows/${id}`);
      return undefined;
    } finally {
      setBusy(false);
    }
  };
  return { publish, busy, problem };
}

function InFlight({ versions }: { versions: readonly Version[] }) {
  const busy = versions.filter((one) => (one.inFlight ?? 0) > 0);
  return (
    <p className={styles.inFlight}>
      <b>{words.inFlight}</b> {busy.length ? busy.map((one) => words.onVersion(one.number, one.inFlight ?? 0)).join(", ") : words.nobody}
    </p>
  );
}

/** A version was published since the draft was begun: whose shall it be? */
function OutdatedDialog({ definition, saving, newest, onClose, onPublished, ...rest }: PublishDialogProps & { newest: Version }) {
  const { publish, busy, problem } = usePublishing({ definition, saving, onClose, onPublished, ...rest });
  const keepMine = async () => {
    await saving.settle("mine", newest.number);
    const done = await publish();
    if (done) onPublished(done);
  };
  const actions = (
    <>
      <Button onClick={onClose}>{words.editMine}</Button>
      <Button kind="primary" busy={busy} onClick={() => void keepMine()}>
        {words.keepMine}
      </Button>
    </>
  );
  return (
    <Dialog open wide onClose={onClose} title={words.outdatedTitle} about={words.outdated(newest.number)} actions={actions}>
      <div className={styles.publish}>
        <DifferenceView before={newest.definition} after={definition} empty={words.unchanged} />
        {problem !== null && <Problem error={problem} />}
      </div>
    </Dialog>
  );
}
