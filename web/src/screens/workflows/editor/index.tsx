import { ReactFlowProvider } from "@xyflow/react";
import { useQuery } from "@tanstack/react-query";
import { caller } from "../../../api/client";
import { useMay } from "../../../api/session";
import { text } from "../../../text";
import { EmptyState } from "../../../ui/empty-state";
import { Page } from "../../../ui/page";
import { Problem } from "../../../ui/problem";
import { Skeleton } from "../../../ui/skeleton";
import type { ScreenProps } from "../../registry";
import { openWorkflow } from "../api";
import { Editor } from "./editor";

/** The editor of a workflow: begins from its draft, or from its newest version. */
export default function EditorScreen({ params }: ScreenProps) {
  const id = params["id"] ?? "";
  const canEdit = useMay("define");
  const { data, error, refetch } = useOpened(id);
  const name = data?.draft?.name ?? data?.workflow?.name;
  if (data && name !== undefined) {
    return (
      <ReactFlowProvider>
        <Editor key={id} id={id} name={name} {...data} canEdit={canEdit} />
      </ReactFlowProvider>
    );
  }
  return (
    <Page title={text.workflows.title} back={{ href: "/workflows", label: text.workflows.title }}>
      {error && <Problem error={error} onRetry={() => void refetch()} />}
      {data && <EmptyState title={text.workflows.detail.noneThere} about={text.workflows.detail.noneThereAbout} />}
      {!data && !error && <Skeleton lines={6} />}
    </Page>
  );
}

/** Read anew whenever the editor is opened, and from then on only written. */
function useOpened(id: string) {
  return useQuery({
    queryKey: [caller.workspace, "opened", id],
    queryFn: () => openWorkflow(id),
    gcTime: 0,
    staleTime: Infinity,
    refetchOnWindowFocus: false,
  });
}
