/** What the specification describes and Mooring does not do yet. */
export type UnbuiltFeature = 'dashboard' | 'jobs' | 'reverse proxy' | 'volumes';

/** A test that would fail if a sentence were false. */
export interface TestReference {
  readonly file: string;
  /** As it stands in the source: of a title that is a template, the text between its quotes. */
  readonly title: string;
  /** Of a table of cases under one title, the case: its text in the source. */
  readonly row?: string;
}

/** Why Mooring does something else than the specification says. */
export interface Difference {
  /** The file in `docs/adr` that records the decision. */
  readonly adr: string;
  readonly because: string;
}

/** An assertion of the specification that can be false, in its own words, shortened where they are long. */
export interface Sentence {
  readonly section: string;
  readonly text: string;
  readonly tests: readonly TestReference[];
  /** The feature that it is about does not exist: there is nothing to test. */
  readonly notBuilt?: UnbuiltFeature;
  /** It is not carried out to the letter, and will not be. */
  readonly differs?: Difference;
  /** Of a code of section 7: the code, and the field as the specification names it. */
  readonly rejection?: { readonly code: string; readonly field: string };
}

/** A sentence before it is known which section it stands in. */
export type SectionRow = Omit<Sentence, 'section'>;

/** Names tests of one file. */
export function testsIn(file: string): (title: string, row?: string) => TestReference {
  return (title, row) => ({ file, title, ...(row !== undefined && { row }) });
}

/** A sentence that holds, with the tests that would catch it. */
export function holds(text: string, ...tests: readonly TestReference[]): SectionRow {
  return { text, tests };
}

/** A sentence about something that does not exist yet. */
export function notBuilt(feature: UnbuiltFeature, text: string): SectionRow {
  return { text, tests: [], notBuilt: feature };
}

/** A sentence that Mooring decided not to follow, with the tests of what it does instead. */
export function differs(difference: Difference, text: string, ...tests: readonly TestReference[]): SectionRow {
  return { text, tests, differs: difference };
}

/** The sentences of one section. */
export function inSection(section: string, ...rows: readonly SectionRow[]): readonly Sentence[] {
  return rows.map(row => ({ section, ...row }));
}
