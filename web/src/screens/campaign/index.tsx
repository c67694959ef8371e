import { useRead } from "../../api/queries";
import { text } from "../../text";
import { Page } from "../../ui/page";
import { Problem } from "../../ui/problem";
import { Skeleton } from "../../ui/skeleton";
import type { ScreenProps } from "../registry";
import { Editor } from "./editor";

const BACK = { href: "/campaigns", label: text.campaigns.title };

/** One campaign from the first word to what became of it. */
export default function Campaign({ params }: ScreenProps) {
  const id = params["id"];
  const types = useRead("GET /v1/node-types", {});
  const found = useRead("GET /v1/campaigns/{id}", { path: { id: id ?? "" } }, { enabled: id !== undefined });
  const error = types.error ?? found.error;
  const title = found.data?.name ?? text.campaigns.title;
  if (error) return <Page title={title} back={BACK}><Problem error={error} onRetry={() => void found.refetch()} /></Page>;
  if (!types.data || (id !== undefined && !found.data)) return <Page title={title} back={BACK}><Skeleton lines={8} /></Page>;
  return <Editor key={id ?? "new"} campaign={found.data ?? null} types={types.data} />;
}
