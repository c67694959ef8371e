import { type Execution, hasEnded } from "@tidings/client";
import { Ban, Pause, Play, RotateCcw } from "lucide-react";
import { useState } from "react";
import { api } from "../../api/client";
import { invalidate } from "../../api/queries";
import { useMay } from "../../api/session";
import { text } from "../../text";
import { Button } from "../../ui/button";
import { ConfirmDialog } from "../../ui/confirm-dialog";
import { toast } from "../../ui/toast";
import { asProblem } from "../../api/problem";

const words = text.executions;
type Act = "pause" | "resume" | "cancel" | "retry";

/** What the person may do about an execution, as its state allows. */
export function Actions({ execution }: { execution: Execution }) {
  const may = useMay("operate");
  const [asking, setAsking] = useState<"cancel" | "retry" | null>(null);
  const [busy, setBusy] = useState(false);
  if (!may) return null;
  const act = async (name: Act) => {
    await api.executions[name](execution.id);
    toast(words.done[name]);
    await invalidate("/v1/executions");
  };
  const atOnce = async (name: Act) => {
    setBusy(true);
    try {
      await act(name);
    } catch (error) {
      toast(asProblem(error).detail, { bad: true });
    } finally {
      setBusy(false);
    }
  };
  const isPaused = execution.status === "paused";
  return (
    <>
      {!hasEnded(execution) && (
        <>
          <Button kind="quiet" icon={<Ban size={14} aria-hidden />} onClick={() => setAsking("cancel")}>
            {text.work.cancel}
          </Button>
          <Button
            busy={busy}
            icon={isPaused ? <Play size={14} aria-hidden /> : <Pause size={14} aria-hidden />}
            onClick={() => void atOnce(isPaused ? "resume" : "pause")}
          >
            {isPaused ? text.work.resume : text.work.pause}
          </Button>
        </>
      )}
      {execution.status === "failed" && (
        <Button kind="primary" icon={<RotateCcw size={14} aria-hidden />} onClick={() => setAsking("retry")}>
          {words.retry}
        </Button>
      )}
      <ConfirmDialog
        open={asking === "cancel"}
        onClose={() => setAsking(null)}
        title={words.cancelTitle}
        about={words.cancelAbout}
        verb={text.work.cancel}
        danger
        onConfirm={() => act("cancel")}
      />
      <ConfirmDialog
        open={asking === "retry"}
        onClose={() => setAsking(null)}
        title={words.retryTitle(execution.errorStep ?? execution.cursor ?? "")}
        about={words.retryAbout}
        verb={words.retry}
        onConfirm={() => act("retry")}
      />
    </>
  );
}
