import { useQuery } from "@tanstack/react-query";
import type { EnrolledCounts, GivenEnrolling, Sequence } from "@tidings/client";
import { useState } from "react";
import { api, caller } from "../../../api/client";
import { invalidate } from "../../../api/queries";
import { Lacks } from "../../../parts/audience/audience-count";
import { AudienceForm } from "../../../parts/audience/audience-form";
import { audienceOf, EMPTY_AUDIENCE, type Filter } from "../../../parts/audience/filter";
import { useLagging } from "../../../parts/use-lagging";
import { text } from "../../../text";
import { Button } from "../../../ui/button";
import { Checkbox } from "../../../ui/checkbox";
import { Dialog } from "../../../ui/dialog";
import { Problem } from "../../../ui/problem";
import { toast } from "../../../ui/toast";
import { useSubmit } from "../../../ui/use-submit";
import styles from "../sequences.module.css";

const words = text.sequences.enrolling;
const FORM = "enroll";
/** A segment is an audience of campaigns and simulations; enrolling takes the filter itself. */
const WHOM = ["matching", "everyone"] as const;

/** Whom to enroll, and before it is done how many that are and what they lack. */
export function EnrollDialog({ sequence, onClose }: { sequence: Sequence; onClose: () => void }) {
  const [draft, setDraft] = useState(EMPTY_AUDIENCE);
  const [again, setAgain] = useState(false);
  const audience = audienceOf(draft);
  const counted = useEnrollingCount(sequence.id, audience, again);
  const count = audience ? counted.data?.enrolledCount : undefined;
  const { busy, problem, onSubmit } = useSubmit(async () => {
    const { data } = await api.sequences.batchEnroll(sequence.id, bodyOf(audience, again));
    toast(words.done(data.enrolledCount));
    await invalidate("/v1/sequences", "/v1/enrollments");
    onClose();
  });
  const actions = (
    <>
      <Button onClick={onClose}>{text.common.cancel}</Button>
      <Button kind="primary" type="submit" form={FORM} busy={busy} disabled={!count || counted.isFetching}>
        {count ? words.verb(count) : text.sequences.enroll}
      </Button>
    </>
  );
  return (
    <Dialog open wide onClose={onClose} title={words.title(sequence.name)} about={words.about} actions={actions}>
      <form id={FORM} onSubmit={onSubmit} className={styles.stack}>
        <AudienceForm draft={draft} onChange={setDraft} whom={WHOM} />
        <Checkbox checked={again} onChange={setAgain}>
          {words.again}
        </Checkbox>
        {audience && <Counted counts={counted.data} isCounting={counted.isFetching} error={counted.error} />}
        {problem !== null && <Problem error={problem} />}
      </form>
    </Dialog>
  );
}

function Counted({ counts, isCounting, error }: { counts: EnrolledCounts | undefined; isCounting: boolean; error: unknown }) {
  if (error) return <Problem error={error} />;
  if (!counts) return <p className={styles.counted}>{words.counting}</p>;
  const { alreadyEnrolled, completedBefore, cancelledBefore, notFound } = counts.skipped;
  const skipped = [
    alreadyEnrolled && words.alreadyEnrolled(alreadyEnrolled),
    completedBefore && words.completedBefore(completedBefore),
    cancelledBefore && words.cancelledBefore(cancelledBefore),
    notFound && words.notFound(notFound),
  ].filter(Boolean);
  return (
    <div className={styles.counted} aria-live="polite" aria-busy={isCounting}>
      <b>{words.would(counts.enrolledCount)}</b>
      {skipped.length > 0 && <span className={styles.quiet}>{skipped.join(" · ")}</span>}
      <Lacks found={counts} />
    </div>
  );
}

/** The same request as a dry run, a moment after the filter was last changed. */
function useEnrollingCount(id: string, audience: Filter | null, again: boolean) {
  const body = useLagging(JSON.stringify(bodyOf(audience, again)));
  return useQuery({
    queryKey: [caller.workspace, "v1", "sequences", id, "batch-enroll", body],
    queryFn: async ({ signal }) => (await api.sequences.batchEnroll(id, { ...(JSON.parse(body) as GivenEnrolling), dryRun: true }, { signal })).data,
    enabled: audience !== null,
    staleTime: 0,
  });
}

function bodyOf(audience: Filter | null, again: boolean): GivenEnrolling {
  return { ...(audience as GivenEnrolling | null), ...(again ? { includeCancelled: true } : {}) };
}
