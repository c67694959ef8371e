import type { Sequence } from "@tidings/client";
import { Ellipsis, Pause, Play, Settings2, Trash2, UserPlus } from "lucide-react";
import { useState } from "react";
import { useLocation } from "wouter";
import { api } from "../../../api/client";
import { invalidate } from "../../../api/queries";
import { useMay } from "../../../api/session";
import { text } from "../../../text";
import { Button } from "../../../ui/button";
import { ConfirmDialog } from "../../../ui/confirm-dialog";
import { EmptyState } from "../../../ui/empty-state";
import { IconButton } from "../../../ui/icon-button";
import { Menu, MenuItem, MenuSeparator } from "../../../ui/menu";
import { Page } from "../../../ui/page";
import { Problem } from "../../../ui/problem";
import { Skeleton } from "../../../ui/skeleton";
import { Tag } from "../../../ui/status";
import { type Tab, Tabs } from "../../../ui/tabs";
import { useQueryValue } from "../../../ui/use-query";
import { State } from "..";
import type { ScreenProps } from "../../registry";
import { updateSequence, useSequence } from "../api";
import { EnrollDialog } from "../dialogs/enroll-dialog";
import { PublishDialog } from "../dialogs/publish-dialog";
import { SettingsDialog } from "../dialogs/settings-dialog";
import styles from "../sequences.module.css";
import { CalendarTab } from "./calendar-tab";
import { EnrollmentsTab } from "./enrollments-tab";
import { FunnelTab } from "./funnel-tab";
import { SimulateTab } from "./simulate-tab";
import { VersionsTab } from "./versions-tab";

const words = text.sequences;
const BACK = { href: "/sequences", label: words.title };
type Open = "settings" | "publish" | "enroll" | "pause" | "delete" | null;

/** One sequence: its steps, who is where, and what would be sent. */
export default function SequenceDetail({ params }: ScreenProps) {
  const { sequence, error, isMissing } = useSequence(params["id"] ?? "");
  if (sequence) return <Shown sequence={sequence} />;
  return (
    <Page title={words.title} back={BACK}>
      {error ? <Problem error={error} /> : isMissing ? <EmptyState title={words.missing} about={words.missingAbout} /> : <Skeleton lines={6} />}
    </Page>
  );
}

function Shown({ sequence }: { sequence: Sequence }) {
  const [tab, setTab] = useQueryValue("tab", "steps");
  const [open, setOpen] = useState<Open>(null);
  const tabs = useTabs(sequence, () => setOpen("enroll"));
  const status = (
    <>
      <State sequence={sequence} />
      {sequence.published && sequence.hasDraft && <Tag tone="info">{words.changed}</Tag>}
    </>
  );
  return (
    <Page title={sequence.name} back={BACK} status={status} actions={<Actions sequence={sequence} onOpen={setOpen} />}>
      <Tabs label={sequence.name} value={tab} onChange={setTab} tabs={tabs} />
      <Dialogs sequence={sequence} open={open} onClose={() => setOpen(null)} />
    </Page>
  );
}

function useTabs(sequence: Sequence, onEnroll: () => void): Tab<string>[] {
  const readsWork = useMay("readWork");
  const simulates = useMay("contacts");
  const tab = (name: keyof typeof words.tabs, content: React.ReactNode) => ({
    value: name as string,
    label: words.tabs[name],
    content: <div className={styles.content}>{content}</div>,
  });
  return [
    tab("steps", <CalendarTab sequence={sequence} />),
    ...(readsWork ? [tab("funnel", <FunnelTab sequence={sequence} />), tab("enrollments", <EnrollmentsTab sequence={sequence} onEnroll={onEnroll} />)] : []),
    ...(simulates ? [tab("simulate", <SimulateTab sequence={sequence} />)] : []),
    tab("versions", <VersionsTab sequence={sequence} />),
  ];
}

function Actions({ sequence, onOpen }: { sequence: Sequence; onOpen: (open: Open) => void }) {
  const canEdit = useMay("define");
  const canEnroll = useMay("operate");
  const { id, status, steps, hasDraft } = sequence;
  const isPublished = sequence.published !== null;
  return (
    <>
      {canEdit && (
        <Menu
          align="end"
          trigger={
            <IconButton label={words.more}>
              <Ellipsis size={16} aria-hidden />
            </IconButton>
          }
        >
          <MenuItem icon={<Settings2 size={15} aria-hidden />} onSelect={() => onOpen("settings")}>
            {words.settings}
          </MenuItem>
          {status === "active" && (
            <MenuItem icon={<Pause size={15} aria-hidden />} onSelect={() => onOpen("pause")}>
              {words.pause}
            </MenuItem>
          )}
          <MenuSeparator />
          <MenuItem danger icon={<Trash2 size={15} aria-hidden />} onSelect={() => onOpen("delete")}>
            {words.delete}
          </MenuItem>
        </Menu>
      )}
      {canEdit && status === "paused" && (
        <Button icon={<Play size={15} aria-hidden />} onClick={() => void updateSequence(id, { status: "active" })}>
          {words.resume}
        </Button>
      )}
      {canEnroll && status === "active" && (
        <Button icon={<UserPlus size={15} aria-hidden />} onClick={() => onOpen("enroll")}>
          {words.enroll}
        </Button>
      )}
      {canEdit && status !== "paused" && (!isPublished || hasDraft) && (
        <Button kind="primary" disabled={steps.length === 0} onClick={() => onOpen("publish")}>
          {words.publish}
        </Button>
      )}
    </>
  );
}

function Dialogs({ sequence, open, onClose }: { sequence: Sequence; open: Open; onClose: () => void }) {
  const [, navigate] = useLocation();
  const remove = async () => {
    await api.sequences.delete(sequence.id);
    navigate("/sequences");
    void invalidate("/v1/sequences");
  };
  switch (open) {
    case "settings":
      return <SettingsDialog sequence={sequence} onClose={onClose} />;
    case "publish":
      return <PublishDialog sequence={sequence} onClose={onClose} />;
    case "enroll":
      return <EnrollDialog sequence={sequence} onClose={onClose} />;
    case "pause":
      return (
        <ConfirmDialog open onClose={onClose} title={`${words.pause} ${sequence.name}`} about={words.pauseAbout} verb={words.pause} onConfirm={() => updateSequence(sequence.id, { status: "paused" })} />
      );
    case "delete":
      return (
        <ConfirmDialog open danger onClose={onClose} title={`${words.delete} ${sequence.name}`} about={words.deleteAbout} verb={words.delete} typed={sequence.name} onConfirm={remove} />
      );
    case null:
      return null;
  }
}
