// What an evaluation comes to.

/** For people: a heading, a table, sentences. For programs: `figures`. */
export interface EvaluationReport {
  readonly heading: string;
  readonly columns: readonly string[];
  readonly rows: readonly (readonly string[])[];
  readonly notes: readonly string[];
  readonly figures: unknown;
}
