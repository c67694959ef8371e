import type { Enrollment } from "@tidings/client";
import { useList } from "../../api/queries";
import { text } from "../../text";
import { EmptyState } from "../../ui/empty-state";
import { Problem } from "../../ui/problem";
import { Status } from "../../ui/status";
import { type Column, Table } from "../../ui/table";
import { Time } from "../../ui/time";

const words = text.contacts;

const COLUMNS: readonly Column<Enrollment>[] = [
  { id: "sequence", title: words.sequence, width: "minmax(140px, 2fr)", cell: (one) => one.sequenceName },
  { id: "state", title: words.state, width: "120px", cell: (one) => <Status state={one.status} /> },
  { id: "step", title: words.next, width: "150px", cell: (one) => <NextStep enrollment={one} /> },
  { id: "sent", title: words.sent, width: "60px", align: "end", cell: (one) => one.messages.sent },
  { id: "why", title: words.why, width: "minmax(120px, 2fr)", cell: (one) => <span title={one.reason ?? undefined}>{one.reason}</span> },
  { id: "enrolled", title: words.enrolled, width: "110px", cell: (one) => <Time at={one.enrolledAt} /> },
];

/** The sequences that the person is or was in. */
export function Enrollments({ id }: { id: string }) {
  const list = useList("GET /v1/enrollments", { query: { contactId: id, limit: 100 } });
  if (list.error) return <Problem error={list.error} onRetry={list.reload} />;
  return (
    <Table
      label={words.tabs.sequences}
      columns={COLUMNS}
      rows={list.rows}
      rowKey={(one) => one.id}
      isLoading={list.isLoading}
      more={list.more}
      maxHeight={620}
      empty={<EmptyState title={words.sequencesEmpty} about={words.sequencesEmptyAbout} />}
    />
  );
}

function NextStep({ enrollment }: { enrollment: Enrollment }) {
  if (!enrollment.nextStepAt) return <span aria-hidden>–</span>;
  return (
    <>
      {words.step(enrollment.currentStepIndex)} <Time at={enrollment.nextStepAt} />
    </>
  );
}
