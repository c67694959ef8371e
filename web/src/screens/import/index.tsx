import type { Imported } from "@tidings/client";
import { useRef, useState } from "react";
import { api } from "../../api/client";
import { invalidate } from "../../api/queries";
import { text } from "../../text";
import { Page } from "../../ui/page";
import { Problem } from "../../ui/problem";
import { ChooseFile } from "./choose-file";
import { type Chosen, readChosen } from "./chosen";
import { Columns } from "./columns";
import { columnsOf, type Target } from "./mapping";
import { Report } from "./report";
import { type Sent, Uploading } from "./uploading";

const words = text.importing;

/** A file of contacts: chosen, its columns named, sent, and told what was stored of it. */
export default function Import() {
  const [chosen, setChosen] = useState<Chosen | null>(null);
  const [sent, setSent] = useState<Sent | null>(null);
  const [report, setReport] = useState<Imported | null>(null);
  const [problem, setProblem] = useState<unknown>(null);
  const stop = useRef<AbortController>(null);

  const choose = async (file: File) => {
    setReport(null);
    setProblem(null);
    try {
      setChosen(await readChosen(file));
    } catch (error) {
      setProblem(error);
    }
  };
  const start = async (targets: readonly Target[]) => {
    if (!chosen) return;
    stop.current = new AbortController();
    setProblem(null);
    setSent({ sent: 0, total: chosen.file.size });
    try {
      const columns = columnsOf(chosen.head?.columns ?? [], targets);
      const onProgress = (bytes: number) => setSent({ sent: bytes, total: chosen.file.size });
      setReport(await api.contacts.importFile(chosen.file, { columns, onProgress, signal: stop.current.signal }));
    } catch (error) {
      setProblem(stop.current.signal.aborted ? new Error(words.stopped) : error);
    } finally {
      setSent(null);
      await invalidate("/v1/contacts", "/v1/audiences");
    }
  };
  const isChoosing = !sent && !report;
  return (
    <Page title={words.title} back={{ href: "/contacts", label: text.contacts.title }}>
      {!sent && <ChooseFile chosen={chosen?.file ?? null} onChoose={(file) => void choose(file)} />}
      {problem !== null && <Problem error={problem} />}
      {chosen && isChoosing && <Columns key={chosen.key} chosen={chosen} onStart={(targets) => void start(targets)} />}
      {sent && <Uploading sent={sent} onStop={() => stop.current?.abort(new Error(words.stopped))} />}
      {report && <Report report={report} name={chosen?.file.name ?? ""} />}
    </Page>
  );
}
