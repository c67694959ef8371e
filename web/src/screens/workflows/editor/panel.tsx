import { X } from "lucide-react";
import { useMemo } from "react";
import { text } from "../../../text";
import { cx } from "../../../ui/cx";
import { IconButton } from "../../../ui/icon-button";
import { PartFormProvider } from "../forms/part-form";
import type { PartProblem } from "../model/places";
import { EdgePanel } from "./edge-panel";
import { useEditing } from "./editing";
import styles from "./editor.module.css";
import { FORM_PANEL } from "./keys";
import { NodePanel, SeveralPanel } from "./node-panel";
import { OptionsPanel } from "./options-panel";
import { ProblemsPanel } from "./problems-panel";

const words = text.workflows.editor;

/** What stands beside the graph: the form of what is selected, the options, or the problems. */
export function Panel({ isWide }: { isWide: boolean }) {
  const { show } = useEditing();
  const content = usePanelContent();
  if (!content) return null;
  return (
    // eslint-disable-next-line jsx-a11y/no-noninteractive-element-interactions -- Escape leaves it for the graph
    <aside id={FORM_PANEL} tabIndex={-1} aria-label={words.panel} className={cx(styles.panel, isWide && styles.widePanel)} onKeyDown={(event) => event.key === "Escape" && !event.defaultPrevented && backToGraph(() => show(null))}>
      <IconButton small label={words.close} className={styles.closePanel} onClick={() => show(null)}>
        <X size={16} aria-hidden />
      </IconButton>
      {content}
    </aside>
  );
}

/** Escape in the form closes it, and the keys are the graph's again. */
function backToGraph(close: () => void): void {
  close();
  setTimeout(() => document.querySelector<HTMLElement>(".react-flow__node[tabindex='0']")?.focus(), 0);
}

function usePanelContent() {
  const { panel, selected, graph } = useEditing();
  const [key] = selected.nodes;
  const node = key === undefined ? undefined : graph.byKey.get(key);
  const edge = graph.edges.find((one) => one.key === selected.edge);
  if (panel === "problems") return <ProblemsPanel />;
  if (panel === "options") return <Part problems="options" content={<OptionsPanel />} />;
  if (panel !== "form") return null;
  if (edge) return <Part problems={{ edge: edge.key }} content={<EdgePanel key={edge.key} edge={edge} />} />;
  if (selected.nodes.length > 1) return <SeveralPanel keys={selected.nodes} />;
  return node ? <Part problems={{ node: node.key }} content={<NodePanel key={node.index} node={node} />} /> : null;
}

interface PartProps {
  problems: "options" | { node: string } | { edge: string };
  content: React.ReactNode;
}

const NONE: readonly PartProblem[] = [];

function Part({ problems: of, content }: PartProps) {
  const { problems, variables, types, canEdit } = useEditing();
  const found = of === "options" ? problems.options : "node" in of ? problems.nodes.get(of.node) : problems.edges.get(of.edge);
  const form = useMemo(() => ({ problems: found ?? NONE, variables, types, canEdit }), [found, variables, types, canEdit]);
  return <PartFormProvider value={form}>{content}</PartFormProvider>;
}
