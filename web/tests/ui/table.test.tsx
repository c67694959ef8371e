import { render, screen } from "@testing-library/react";
import userEvent from "@testing-library/user-event";
import { useState } from "react";
import { describe, expect, it } from "vitest";
import { Router } from "wouter";
import { memoryLocation } from "wouter/memory-location";
import { type Selection, Table } from "../../src/ui/table";
import { nextRow, toggled } from "../../src/ui/table-keys";
import { TooltipProvider } from "../../src/ui/tooltip";

interface Row {
  id: string;
  name: string;
}

const ROWS: Row[] = Array.from({ length: 100_000 }, (_, place) => ({ id: `r${place}`, name: `Row ${place}` }));

function Shown({ onSelected }: { onSelected?: (selected: ReadonlySet<string>) => void }) {
  const [selected, setSelected] = useState<ReadonlySet<string>>(new Set());
  const selection: Selection = {
    selected,
    onChange: (now) => {
      setSelected(now);
      onSelected?.(now);
    },
  };
  return (
    <Table
      label="Rows"
      rows={ROWS}
      rowKey={(row) => row.id}
      rowName={(row) => row.name}
      href={(row) => `/rows/${row.id}`}
      columns={[{ id: "name", title: "Name", cell: (row) => row.name }]}
      selection={selection}
    />
  );
}

function show(onSelected?: (selected: ReadonlySet<string>) => void) {
  const location = memoryLocation({ path: "/rows", record: true });
  render(
    <Router hook={location.hook}>
      <TooltipProvider>
        <Shown onSelected={onSelected} />
      </TooltipProvider>
    </Router>,
  );
  return location;
}

describe("a table", () => {
  it("draws what is on the screen, of however many rows", () => {
    show();

    expect(screen.getByRole("grid", { name: "Rows" }).getAttribute("aria-rowcount")).toBe("100001");
    expect(screen.getAllByRole("row").length).toBeLessThan(100);
  });

  it("opens the row that the arrows led to", async () => {
    const location = show();
    const user = userEvent.setup();

    screen.getAllByRole("row")[1]?.focus();
    await user.keyboard("{ArrowDown}");
    await expect.poll(() => document.activeElement?.getAttribute("data-row")).toBe("1");
    await user.keyboard("{Enter}");

    expect(location.history.at(-1)).toBe("/rows/r1");
  });

  it("selects by a key and up to a row", async () => {
    let selected: ReadonlySet<string> = new Set();
    show((now) => (selected = now));
    const user = userEvent.setup();

    screen.getAllByRole("row")[1]?.focus();
    await user.keyboard("x{ArrowDown}");
    await expect.poll(() => document.activeElement?.getAttribute("data-row")).toBe("1");
    await user.keyboard("{Shift>} {/Shift}");

    expect([...selected]).toEqual(["r0", "r1"]);
  });
});

describe("the keys of a table", () => {
  it("stay within its rows", () => {
    expect(nextRow("ArrowUp", 0, 5)).toBe(0);
    expect(nextRow("PageDown", 2, 5)).toBe(4);
    expect(nextRow("End", 0, 5)).toBe(4);
    expect(nextRow("j", 0, 0)).toBeUndefined();
  });

  it("make a range like its last row", () => {
    const keys = ["a", "b", "c", "d"];

    expect([...toggled(new Set(["a"]), keys, 2, 1)]).toEqual(["a", "b", "c"]);
    expect([...toggled(new Set(keys), keys, 3, 1)]).toEqual(["a"]);
  });
});
