import type { Imported, RejectedLine } from "@tidings/client";
import { Download } from "lucide-react";
import { useSession } from "../../api/session";
import { text } from "../../text";
import { Button, ButtonLink } from "../../ui/button";
import { Section } from "../../ui/page";
import { saveFile } from "../../ui/save-file";
import { type Column, Table } from "../../ui/table";
import { count } from "../../ui/times";
import { csvOf } from "./csv";
import styles from "./import.module.css";

const words = text.importing;
const COUNTS = ["lines", "created", "updated", "unchanged", "repeated", "rejected"] as const;

const COLUMNS: readonly Column<RejectedLine>[] = [
  { id: "line", title: words.line, width: "80px", align: "end", cell: (one) => count(one.line) },
  { id: "field", title: words.field, width: "180px", cell: (one) => one.problems.map((problem) => placeOf(problem.place)).join(", ") },
  { id: "reason", title: words.reason, cell: (one) => reasonOf(one) },
];

/** What became of each line of a file. */
export function Report({ report, name }: { report: Imported; name: string }) {
  const mayDefine = useSession().permissions.includes("define");
  return (
    <>
      <Section title={words.done} actions={<Next mayDefine={mayDefine} />}>
        <dl className={styles.counts}>
          {COUNTS.filter((one) => one === "lines" || report[one] > 0).map((one) => (
            <div key={one}>
              <dt>{words[one]}</dt>
              <dd className={one === "rejected" ? styles.problem : undefined}>{count(report[one])}</dd>
            </div>
          ))}
        </dl>
      </Section>
      {report.rejected > 0 && <Rejected report={report} name={name} />}
    </>
  );
}

function Next({ mayDefine }: { mayDefine: boolean }) {
  return (
    <>
      <ButtonLink href="/contacts">{words.toContacts}</ButtonLink>
      {mayDefine && (
        <ButtonLink kind="primary" href="/campaigns/new">
          {words.toCampaign}
        </ButtonLink>
      )}
    </>
  );
}

function Rejected({ report, name }: { report: Imported; name: string }) {
  const lines = report.rejectedLines;
  const download = () => {
    const rows = lines.flatMap((one) => one.problems.map((problem) => [one.line, problem.place, problem.message] as const));
    saveFile(`rejected-${name}`, csvOf([["line", "field", "reason"], ...rows]), "text/csv");
  };
  const actions = (
    <Button icon={<Download size={14} aria-hidden />} onClick={download}>
      {words.download}
    </Button>
  );
  return (
    <Section title={words.rejectedTitle} about={words.rejectedAbout(lines.length, report.rejected)} actions={actions}>
      <Table label={words.rejectedTitle} columns={COLUMNS} rows={lines} rowKey={(one) => String(one.line)} maxHeight={420} />
    </Section>
  );
}

function placeOf(place: string): string {
  return place === "line" ? words.wholeLine : place;
}

function reasonOf(line: RejectedLine) {
  const reason = line.problems.map((problem) => problem.message).join("; ");
  return <span title={reason}>{reason}</span>;
}
