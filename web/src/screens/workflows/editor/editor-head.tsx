import { CircleAlert, CircleCheck, Clipboard, Ellipsis, FlaskConical, LayoutGrid, Play, Redo2, Settings2, Trash2, Undo2, FileText } from "lucide-react";
import { useEffect } from "react";
import { Link } from "wouter";
import { text } from "../../../text";
import { Button } from "../../../ui/button";
import { cx } from "../../../ui/cx";
import { IconButton } from "../../../ui/icon-button";
import { Menu, MenuItem, MenuSeparator } from "../../../ui/menu";
import { Tooltip } from "../../../ui/tooltip";
import type { Definition } from "../../../parts/graph/definition";
import type { Workflow } from "../api";
import type { History } from "../model/history";
import type { Open } from "./editor-dialogs";
import { useEditing } from "./editing";
import styles from "./editor.module.css";
import type { Saving } from "./saving";
import type { Action } from "./state";

const words = text.workflows.editor;

interface EditorHeadProps {
  name: string;
  workflow: Workflow | null;
  saving: Saving;
  history: History<Definition>;
  hasMoved: boolean;
  isChecking: boolean;
  onOpen: (open: Open) => void;
  dispatch: (action: Action) => void;
}

/** The name, what is saved, and everything that is done to the whole. */
export function EditorHead({ name, workflow, saving, history, hasMoved, isChecking, onOpen, dispatch }: EditorHeadProps) {
  const { id, canEdit, panel, show } = useEditing();
  useEffect(() => {
    document.title = `${name} · ${text.common.product}`;
  }, [name]);
  return (
    <header className={styles.head}>
      <div className={styles.names}>
        <Link href="/workflows" className={styles.crumb}>
          {words.back}
        </Link>
        <span aria-hidden>/</span>
        <h1 tabIndex={-1}>{workflow ? <Link href={`/workflows/${id}`}>{name}</Link> : name}</h1>
        <SavingState saving={saving} workflow={workflow} />
      </div>
      <div role="toolbar" aria-label={name} className={styles.tools}>
        {canEdit && (
          <>
            <IconButton label={words.undo} disabled={history.past.length === 0} onClick={() => dispatch({ do: "undo" })}>
              <Undo2 size={16} aria-hidden />
            </IconButton>
            <IconButton label={words.redo} disabled={history.future.length === 0} onClick={() => dispatch({ do: "redo" })}>
              <Redo2 size={16} aria-hidden />
            </IconButton>
            <IconButton label={words.tidy} disabled={!hasMoved} onClick={() => dispatch({ do: "tidy" })}>
              <LayoutGrid size={16} aria-hidden />
            </IconButton>
            <span className={styles.rule} aria-hidden />
          </>
        )}
        <ProblemsButton isChecking={isChecking} />
        <IconButton label={words.options} aria-pressed={panel === "options"} onClick={() => show(panel === "options" ? null : "options")}>
          <Settings2 size={16} aria-hidden />
        </IconButton>
        <MoreMenu hasDraft={saving.revision > 0} onOpen={onOpen} />
        <Button icon={<FlaskConical size={15} aria-hidden />} onClick={() => onOpen("simulate")}>
          {words.simulate}
        </Button>
        <Button icon={<Play size={15} aria-hidden />} onClick={() => onOpen("test")}>
          {words.test}
        </Button>
        {canEdit && (
          <Button kind="primary" onClick={() => onOpen("publish")}>
            {words.publish}
          </Button>
        )}
      </div>
    </header>
  );
}

/** Whether what is on the screen is kept. */
function SavingState({ saving, workflow }: { saving: Saving; workflow: Workflow | null }) {
  const { canEdit } = useEditing();
  if (!canEdit) return <span className={styles.state}>{words.readOnly}</span>;
  const isPublished = saving.state === "saved" && saving.revision === 0 && workflow !== null;
  const said = isPublished ? words.asPublished(workflow.version) : words[saving.state];
  const isBad = saving.state === "failed" || saving.state === "conflict";
  const shown = (
    <span role="status" className={cx(styles.state, isBad && styles.stateBad)}>
      {said}
    </span>
  );
  if (!saving.problem || !isBad) return shown;
  return (
    <Tooltip text={saving.problem.detail} side="bottom">
      {shown}
    </Tooltip>
  );
}

function ProblemsButton({ isChecking }: { isChecking: boolean }) {
  const { problems, panel, show } = useEditing();
  const isWrong = problems.count > 0;
  const label = isWrong ? text.graph.problems(problems.count) : isChecking ? words.checking : words.noProblems;
  return (
    <Button kind="quiet" aria-pressed={panel === "problems"} className={cx(styles.problemsButton, isWrong && styles.isWrong)} icon={isWrong ? <CircleAlert size={15} aria-hidden /> : <CircleCheck size={15} aria-hidden />} onClick={() => show(panel === "problems" ? null : "problems")}>
      {label}
    </Button>
  );
}

function MoreMenu({ hasDraft, onOpen }: { hasDraft: boolean; onOpen: (open: Open) => void }) {
  const { canEdit } = useEditing();
  const trigger = (
    <button type="button" aria-label={words.more} className={styles.moreButton}>
      <Ellipsis size={16} aria-hidden />
    </button>
  );
  return (
    <Menu trigger={trigger} align="end">
      <MenuItem icon={<FileText size={14} aria-hidden />} onSelect={() => onOpen("copy")}>
        {words.copyOut}
      </MenuItem>
      {canEdit && (
        <>
          <MenuItem icon={<Clipboard size={14} aria-hidden />} onSelect={() => onOpen("paste")}>
            {words.pasteIn}
          </MenuItem>
          <MenuSeparator />
          <MenuItem danger disabled={!hasDraft} icon={<Trash2 size={14} aria-hidden />} onSelect={() => onOpen("discard")}>
            {words.discard}
          </MenuItem>
        </>
      )}
    </Menu>
  );
}
