// What "eval nur" shows: entities, events, search and graph on a small corpus, everything read by rules.
import { systemClock, systemIds } from '../core/index.ts';
import { evaluateNur } from '../knowledge/evaluation/nur.ts';
import type { KnowledgeOptions } from '../knowledge/index.ts';
import { PostgresSpaceStore } from '../knowledge/spaces/postgres-space-store.ts';
import { openEvaluationDesks } from './evaluation-desks.ts';
import type { EvaluationReport } from './evaluation-report.ts';
import type { EvaluationWorld } from './evaluation-world.ts';

/** Fails with INPUT_INVALID when the data cannot be used. */
export async function nurReport(
  { database, embedder, whyNoEmbedder }: EvaluationWorld,
  data: string,
  options: KnowledgeOptions,
  signal: AbortSignal,
): Promise<EvaluationReport> {
  const embedders = {
    current: () =>
      embedder
        ? { state: 'ready' as const, embedder }
        : { state: 'not-configured' as const, why: whyNoEmbedder ?? '' },
  };
  const desks = await openEvaluationDesks({
    database,
    clock: systemClock,
    ids: systemIds,
    embedders,
    options,
    signal,
  });
  const space = await new PostgresSpaceStore(database, systemClock).ensure(null, 'evaluation');
  const figures = await evaluateNur(data, { ...desks, space });
  const { entities, events, search, graph } = figures;
  const row = (name: string, figure: number, note: string): string[] => [name, figure.toFixed(3), note];
  const counts = ({ matched, found, expected }: typeof entities.byName): string =>
    `${matched} right of ${found} found and ${expected} expected`;
  return {
    heading: `nur: ${figures.documents} documents, ${search.queries} graded questions, read by rules`,
    columns: ['FIGURE', 'VALUE', 'HOW'],
    rows: [
      row('entity F1', entities.f1, `name and type; ${counts(entities)}`),
      row('entity F1, names only', entities.byName.f1, counts(entities.byName)),
      row('event F1', events.f1, `category and quote; ${counts(events)}`),
      row('event F1, narratives', events.byNarrative.f1, counts(events.byNarrative)),
      row('MRR', search.mrr, `${search.overAll.mrr.toFixed(3)} with questions that nobody graded`),
      row('NDCG', search.ndcg, `${search.overAll.ndcg.toFixed(3)} with questions that nobody graded`),
      row(
        'graph connection F1',
        graph.connectionF1,
        `people who share an event; ${graph.overAll.connectionF1.toFixed(3)} over all ${graph.overAll.questions} questions`,
      ),
      row('graph document F1', graph.documentF1, 'documents that mention it'),
    ],
    notes: whyNoEmbedder === null ? [] : [`Without vectors: ${whyNoEmbedder}`],
    figures: {
      kind: 'nur',
      documents: figures.documents,
      embedder: embedder?.model ?? null,
      entities: { ...entities, byName: undefined, by_name: entities.byName },
      events: { ...events, byNarrative: undefined, by_narrative: events.byNarrative },
      search: { queries: search.queries, mrr: search.mrr, ndcg: search.ndcg, over_all: search.overAll },
      graph: {
        connection_f1: graph.connectionF1,
        document_f1: graph.documentF1,
        over_all: { questions: graph.overAll.questions, connection_f1: graph.overAll.connectionF1 },
      },
    },
  };
}
