import { hasEnded, type Run } from "@tidings/client";
import { Ban, Download, Pause, Play, RotateCcw } from "lucide-react";
import { useState } from "react";
import { api } from "../../api/client";
import { asProblem } from "../../api/problem";
import { invalidate } from "../../api/queries";
import { useMay } from "../../api/session";
import { text } from "../../text";
import { Button } from "../../ui/button";
import { ConfirmDialog } from "../../ui/confirm-dialog";
import { toast } from "../../ui/toast";
import { downloadRun } from "./download";

const words = text.runs;
type Act = "pause" | "resume" | "cancel";

/** What the person may do about a run, as its state allows. */
export function Actions({ run, onRetry }: { run: Run; onRetry: () => void }) {
  const may = useMay("operate");
  const [asking, setAsking] = useState(false);
  const [busy, setBusy] = useState<string | null>(null);
  const act = async (name: Act) => {
    await api.runs[name](run.id);
    toast(words.done[name]);
    await invalidate("/v1/runs");
  };
  const once = async (name: string, run: () => Promise<void>) => {
    setBusy(name);
    try {
      await run();
    } catch (error) {
      toast(asProblem(error).detail, { bad: true });
    } finally {
      setBusy(null);
    }
  };
  const isOpen = !hasEnded(run) && run.status !== "partial" && !run.cancelled;
  const turn: Act = run.paused ? "resume" : "pause";
  return (
    <>
      <Button kind="quiet" busy={busy === "export"} icon={<Download size={14} aria-hidden />} onClick={() => void once("export", () => downloadRun(run))}>
        {words.export}
      </Button>
      {may && isOpen && (
        <>
          <Button kind="quiet" icon={<Ban size={14} aria-hidden />} onClick={() => setAsking(true)}>
            {text.work.cancel}
          </Button>
          <Button
            busy={busy === turn}
            icon={run.paused ? <Play size={14} aria-hidden /> : <Pause size={14} aria-hidden />}
            onClick={() => void once(turn, () => act(turn))}
          >
            {run.paused ? text.work.resume : text.work.pause}
          </Button>
        </>
      )}
      {may && run.counts.failed > 0 && (
        <Button kind="primary" icon={<RotateCcw size={14} aria-hidden />} onClick={onRetry}>
          {words.retry}
        </Button>
      )}
      <ConfirmDialog
        open={asking}
        onClose={() => setAsking(false)}
        title={words.cancelTitle}
        about={words.cancelAbout(run.counts.queued)}
        verb={text.work.cancel}
        danger
        onConfirm={() => act("cancel")}
      />
    </>
  );
}
