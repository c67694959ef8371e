import { useMemo } from "react";
import { invalidate } from "../../../api/queries";
import { text } from "../../../text";
import { ConfirmDialog } from "../../../ui/confirm-dialog";
import { deleteDraft, type Publication, type Workflow } from "../api";
import { ConflictDialog } from "../dialogs/conflict-dialog";
import { CopyOutDialog, PasteDialog } from "../dialogs/file-dialogs";
import { PublishDialog } from "../dialogs/publish-dialog";
import { SimulateDialog } from "../dialogs/simulate-dialog";
import { TestDialog } from "../dialogs/test-dialog";
import type { Where } from "../model/commands";
import { useEditing } from "./editing";
import { AddDialog } from "./palette";
import type { Saving } from "./saving";

/** Which dialog is open. */
export type Open = "publish" | "test" | "simulate" | "copy" | "paste" | "discard" | { add: Where } | null;

interface EditorDialogsProps {
  open: Open;
  onOpen: (open: Open) => void;
  name: string;
  workflow: Workflow | null;
  saving: Saving;
  onLeave: () => void;
  onPublished: (publication: Publication) => void;
}

export function EditorDialogs({ open, onOpen, name, workflow, saving, onLeave, onPublished }: EditorDialogsProps) {
  const { id, definition, problems, show, edit } = useEditing();
  const close = () => onOpen(null);
  const version = workflow?.version ?? 0;
  const file = useMemo(() => ({ name, description: workflow?.description ?? null, active: null, definition }), [name, workflow, definition]);
  if (saving.state === "conflict") return <ConflictDialog saving={saving} definition={definition} />;
  if (open === null) return null;
  if (typeof open === "object") return <AddDialog where={open.add} onClose={close} />;
  switch (open) {
    case "publish":
      return (
        <PublishDialog
          {...{ id, name, definition, saving, onPublished }}
          problems={problems.count}
          onClose={close}
          onProblems={() => {
            close();
            show("problems");
          }}
        />
      );
    case "test":
      return <TestDialog id={id} name={name} version={version} isChanged={definition !== workflow?.definition} onClose={close} />;
    case "simulate":
      return <SimulateDialog id={id} name={name} version={version} definition={definition} onClose={close} />;
    case "copy":
      return <CopyOutDialog file={file} onClose={close} />;
    case "paste":
      return <PasteDialog name={name} onClose={close} onTake={(next) => edit({ definition: next, nodes: [] })} />;
    case "discard":
      return <DiscardDialog id={id} isNew={!workflow} saving={saving} onClose={close} onLeave={onLeave} />;
  }
}

function DiscardDialog({ id, isNew, saving, onClose, onLeave }: { id: string; isNew: boolean; saving: Saving; onClose: () => void; onLeave: () => void }) {
  const words = text.workflows.discard;
  const discard = async () => {
    saving.stop();
    await deleteDraft(id);
    await invalidate("/v1/workflows");
    onLeave();
  };
  return <ConfirmDialog open danger onClose={onClose} title={words.title} about={isNew ? words.aboutNew : words.about} verb={words.verb} onConfirm={discard} />;
}
