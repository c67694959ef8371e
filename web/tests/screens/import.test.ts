import { describe, expect, it } from "vitest";
import { csvOf, headOf } from "../../src/screens/import/csv";
import { columnsOf, guessAll, problemOf } from "../../src/screens/import/mapping";

describe("the head of a file", () => {
  it("finds the delimiter outside of quotes and takes quoted line ends as they are", () => {
    const head = headOf('"Name, full";Mail;Note\r\n"Love""lace";ada@example.com;"two\nlines"\r\nx;y;z\r\n');
    expect(head).toEqual({ columns: ["Name, full", "Mail", "Note"], rows: [['Love"lace', "ada@example.com", "two\nlines"], ["x", "y", "z"]] });
  });

  it("leaves out a last record that may go on beyond what was read", () => {
    expect(headOf("a,b\n1,2\n3,", true)?.rows).toEqual([["1", "2"]]);
  });

  it("has none where nothing is written", () => {
    expect(headOf(" \n\n")).toBeNull();
  });

  it("writes no cell that a spreadsheet would take for a formula", () => {
    expect(csvOf([["=1+1", 'a "b", c', 5]])).toBe(`'=1+1,"a ""b"", c",5`);
  });
});

describe("what columns become", () => {
  it("is guessed from their names, and told for each column", () => {
    const columns = ["Customer No", "Full name", "E-Mail", "Company Size", "consent.email", "Mail"];
    const targets = guessAll(columns);
    expect(columnsOf(columns, targets)).toEqual({
      "Customer No": "externalId",
      "Full name": "name",
      "E-Mail": "email",
      "Company Size": "attributes.companySize",
      "consent.email": "consent.email",
      Mail: "attributes.mail",
    });
  });

  it("is refused where two become one, or where nobody can be told apart", () => {
    expect(problemOf([{ field: "email", attribute: "" }, { field: "email", attribute: "" }])).toEqual({ kind: "twice", name: "email" });
    expect(problemOf([{ field: "name", attribute: "" }])).toEqual({ kind: "nobody" });
    expect(problemOf([{ field: "phone", attribute: "" }])).toBeNull();
  });
});
