import type { Sequence } from "@tidings/client";
import { Plus } from "lucide-react";
import { useState } from "react";
import { useMay } from "../../../api/session";
import { text } from "../../../text";
import { Button, ButtonLink } from "../../../ui/button";
import { EmptyState } from "../../../ui/empty-state";
import { Problem } from "../../../ui/problem";
import { toast } from "../../../ui/toast";
import { changeSteps } from "../api";
import { moveTo } from "../model/calendar";
import styles from "./calendar.module.css";
import { Calendar } from "./calendar";

const words = text.sequences.calendar;

/** The steps of the draft by day and hour, where they can be moved and new ones begun. */
export function CalendarTab({ sequence }: { sequence: Sequence }) {
  const canEdit = useMay("define");
  const [all, setAll] = useState(false);
  const [problem, setProblem] = useState<unknown>(null);
  const add = canEdit && (
    <ButtonLink small href={`/sequences/${sequence.id}/steps/new`} icon={<Plus size={14} aria-hidden />}>
      {words.addStep}
    </ButtonLink>
  );
  const move = async (id: string, day: number, hour: number | null) => {
    setProblem(null);
    try {
      await changeSteps(sequence.id, moveTo(sequence, id, day, hour));
      toast(words.moved(words.day(day)));
    } catch (error) {
      setProblem(error);
    }
  };
  if (sequence.steps.length === 0) return <EmptyState title={words.empty} about={words.emptyAbout} action={add} />;
  const zone = sequence.timezone === "contact" ? words.zoneContact : sequence.timezone;
  return (
    <>
      <div className={styles.head}>
        <p>
          {sequence.offsetFrom === "previous" ? words.fromPrevious : words.fromEnrollment} {words.readOnly} {zone}. {canEdit && words.dragHint}
        </p>
        <Button small kind="quiet" onClick={() => setAll(!all)}>
          {all ? words.fewHours : words.allHours}
        </Button>
        {add}
      </div>
      {problem !== null && <Problem error={problem} />}
      <Calendar sequence={sequence} allHours={all} onMove={canEdit ? (id, day, hour) => void move(id, day, hour) : undefined} />
    </>
  );
}
