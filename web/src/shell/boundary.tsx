import { Component, type ReactNode } from "react";
import { text } from "../text";
import { Button } from "../ui/button";
import { EmptyState } from "../ui/empty-state";
import { Problem } from "../ui/problem";

/** Keeps the rest of the page alive when a screen throws, or when its file is gone after a new version. */
export class Boundary extends Component<{ children: ReactNode }, { error: unknown }> {
  override state = { error: null as unknown };

  static getDerivedStateFromError(error: unknown) {
    return { error };
  }

  override render() {
    const { error } = this.state;
    if (error === null) return this.props.children;
    const reload = <Button onClick={() => window.location.reload()}>{text.problems.reload}</Button>;
    return <EmptyState title={text.problems.screenFailed} about={<Problem error={error} />} action={reload} />;
  }
}
