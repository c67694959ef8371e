import { FlaskConical, Pencil, Play, Power, Trash2, Ellipsis, ListTree } from "lucide-react";
import { useMemo, useState } from "react";
import { Redirect, useLocation } from "wouter";
import { invalidate } from "../../../api/queries";
import { useMay } from "../../../api/session";
import { useShortcuts } from "../../../shell/keys";
import { text } from "../../../text";
import { Button, ButtonLink } from "../../../ui/button";
import { ConfirmDialog } from "../../../ui/confirm-dialog";
import { EmptyState } from "../../../ui/empty-state";
import { Menu, MenuItem, MenuLink, MenuSeparator } from "../../../ui/menu";
import { Page } from "../../../ui/page";
import { Problem } from "../../../ui/problem";
import { Skeleton } from "../../../ui/skeleton";
import { Status } from "../../../ui/status";
import { Tabs } from "../../../ui/tabs";
import { toast } from "../../../ui/toast";
import { useQueryValue } from "../../../ui/use-query";
import type { ScreenProps } from "../../registry";
import { deleteWorkflow, type Draft, switchWorkflow, useDraft, useWorkflow, type Workflow } from "../api";
import { FileView } from "../dialogs/file-dialogs";
import { SimulateDialog } from "../dialogs/simulate-dialog";
import { TestDialog } from "../dialogs/test-dialog";
import styles from "./detail.module.css";
import { GraphTab } from "./graph-tab";
import { VersionsTab } from "./versions-tab";

const words = text.workflows.detail;
type Tab = "graph" | "versions" | "file";
type Open = "test" | "simulate" | "deactivate" | "delete" | null;

/** One workflow: what it does, its versions with who is under way on each, and its file. */
export default function WorkflowDetail({ params }: ScreenProps) {
  const id = params["id"] ?? "";
  const { workflow, error, isMissing } = useWorkflow(id);
  const { draft, isPending } = useDraft(id);
  if (workflow) return <Shown workflow={workflow} draft={draft ?? null} />;
  if (isMissing && draft) return <Redirect to={`/workflows/${id}/edit`} replace />;
  return (
    <Page title={text.workflows.title} back={{ href: "/workflows", label: text.workflows.title }}>
      {error ? <Problem error={error} /> : isMissing && !isPending ? <EmptyState title={words.noneThere} about={words.noneThereAbout} /> : <Skeleton lines={6} />}
    </Page>
  );
}

function Shown({ workflow, draft }: { workflow: Workflow; draft: Draft | null }) {
  const { id, name, version, definition, description, active } = workflow;
  const [tab, setTab] = useQueryValue("tab", "graph");
  const [open, setOpen] = useState<Open>(null);
  const file = useMemo(() => ({ name, description, active, definition }), [name, description, active, definition]);
  const tabs = [
    { value: "graph" as const, label: words.graph, content: <GraphTab workflow={workflow} /> },
    { value: "versions" as const, label: words.versions, content: <VersionsTab id={id} /> },
    { value: "file" as const, label: words.file, content: <div className={styles.file}><FileView file={file} fill /></div> },
  ];
  return (
    <Page title={name} fill back={{ href: "/workflows", label: text.workflows.title }} count={text.workflows.versionOf(version)} status={<State workflow={workflow} />} actions={<Actions workflow={workflow} draft={draft} onOpen={setOpen} />}>
      {description && <p className={styles.about}>{description}</p>}
      <div className={styles.tabs}>
        <Tabs<Tab> label={name} value={tab as Tab} onChange={setTab} tabs={tabs} />
      </div>
      {open === "test" && <TestDialog id={id} name={name} version={version} isChanged={draft !== null} onClose={() => setOpen(null)} />}
      {open === "simulate" && <SimulateDialog id={id} name={name} version={version} onClose={() => setOpen(null)} />}
      {(open === "deactivate" || open === "delete") && <Sure workflow={workflow} what={open} onClose={() => setOpen(null)} />}
    </Page>
  );
}

function State({ workflow: { active, notReady } }: { workflow: Workflow }) {
  if (notReady.length) return <Status state="warn" tone="warn">{text.workflows.notReady(notReady.join(", "))}</Status>;
  return <Status state={active ? "active" : "inactive"}>{active ? text.workflows.active : text.workflows.inactive}</Status>;
}

interface ActionsProps {
  workflow: Workflow;
  draft: Draft | null;
  onOpen: (open: Open) => void;
}

function Actions({ workflow, draft, onOpen }: ActionsProps) {
  const { id, active } = workflow;
  const [mayDefine, mayOperate, mayContacts] = [useMay("define"), useMay("operate"), useMay("contacts")];
  const [, navigate] = useLocation();
  const activate = async () => {
    await switchWorkflow(id, true);
    await invalidate("/v1/workflows");
    toast(words.activated(workflow.name));
  };
  useShortcuts([{ keys: "e", label: words.edit, run: () => navigate(`/workflows/${id}/edit`) }]);
  const trigger = (
    <Button aria-label={words.more} icon={<Ellipsis size={16} aria-hidden />} kind="quiet" />
  );
  return (
    <>
      <Menu trigger={trigger} align="end">
        <MenuLink href={`/executions?workflow=${encodeURIComponent(workflow.name)}`} icon={<ListTree size={14} aria-hidden />}>
          {words.executions}
        </MenuLink>
        {mayDefine && (
          <>
            <MenuSeparator />
            <MenuItem icon={<Power size={14} aria-hidden />} onSelect={() => (active ? onOpen("deactivate") : void activate())}>
              {active ? words.deactivate : words.activate}
            </MenuItem>
            <MenuItem danger icon={<Trash2 size={14} aria-hidden />} onSelect={() => onOpen("delete")}>
              {words.delete}
            </MenuItem>
          </>
        )}
      </Menu>
      {(mayContacts || mayDefine) && (
        <Button icon={<FlaskConical size={15} aria-hidden />} onClick={() => onOpen("simulate")}>
          {words.simulate}
        </Button>
      )}
      {mayOperate && (
        <Button icon={<Play size={15} aria-hidden />} onClick={() => onOpen("test")}>
          {words.test}
        </Button>
      )}
      {mayDefine && (
        <ButtonLink href={`/workflows/${id}/edit`} kind="primary" icon={<Pencil size={14} aria-hidden />}>
          {draft ? words.continueDraft : words.edit}
        </ButtonLink>
      )}
    </>
  );
}

function Sure({ workflow, what, onClose }: { workflow: Workflow; what: "deactivate" | "delete"; onClose: () => void }) {
  const { id, name } = workflow;
  const [, navigate] = useLocation();
  const deactivate = async () => {
    await switchWorkflow(id, false);
    await invalidate("/v1/workflows");
    toast(words.deactivated(name));
  };
  const drop = async () => {
    await deleteWorkflow(id);
    navigate("/workflows");
    await invalidate("/v1/workflows");
  };
  if (what === "deactivate") return <ConfirmDialog open onClose={onClose} title={words.deactivateTitle(name)} about={words.deactivateAbout} verb={words.deactivate} onConfirm={deactivate} />;
  return <ConfirmDialog open danger typed={name} onClose={onClose} title={words.deleteTitle(name)} about={words.deleteAbout} verb={words.delete} onConfirm={drop} />;
}
