import { ReactFlowProvider } from "@xyflow/react";
import { asProblem } from "../../../api/problem";
import { useGet } from "../../../api/queries";
import { useMay } from "../../../api/session";
import { text } from "../../../text";
import { EmptyState } from "../../../ui/empty-state";
import { Page } from "../../../ui/page";
import { Problem } from "../../../ui/problem";
import { Skeleton } from "../../../ui/skeleton";
import type { ScreenProps } from "../../registry";
import { type Draft, draftPath, pathOf, type Workflow } from "../api";
import type { NodeTypes } from "../model/schema";
import { Editor } from "./editor";

/** The editor of a workflow: begins from its draft, or from its newest version. */
export default function EditorScreen({ params }: ScreenProps) {
  const id = params["id"] ?? "";
  const canEdit = useMay("define");
  const workflow = useGet<Workflow>(pathOf(id), {}, FRESH);
  const draft = useGet<Draft>(draftPath(id), {}, FRESH);
  const types = useGet<NodeTypes>("/v1/node-types");
  const isMissing = (error: unknown) => error !== null && asProblem(error).status === 404;
  const wrong = [workflow.error, draft.error, types.error].find((error) => error !== null && !isMissing(error));
  const back = { href: "/workflows", label: text.workflows.title };
  if (wrong) return <Page title={text.workflows.title} back={back}><Problem error={wrong} /></Page>;
  if (isMissing(workflow.error) && isMissing(draft.error)) {
    return (
      <Page title={text.workflows.title} back={back}>
        <EmptyState title={text.workflows.detail.noneThere} about={text.workflows.detail.noneThereAbout} />
      </Page>
    );
  }
  const isReady = (workflow.data ?? isMissing(workflow.error)) && (draft.data ?? isMissing(draft.error)) && types.data;
  const name = draft.data?.name ?? workflow.data?.name;
  if (!isReady || name === undefined) return <Page title={text.workflows.title} back={back}><Skeleton lines={6} /></Page>;
  return (
    <ReactFlowProvider>
      <Editor key={id} id={id} name={name} workflow={workflow.data ?? null} draft={draft.data ?? null} types={types.data} canEdit={canEdit} />
    </ReactFlowProvider>
  );
}

/** What is edited is read once, when the editor is opened, and then only written. */
const FRESH = { once: true } as const;
