// Measures all of knowledge on a small corpus with known entities, events, connections and graded questions. Protocol:
// documents are ingested one after the other, in path order. entities: per document, the entities its mentions were
// resolved to, each once, compared with the true ones: names with a similarity of at least 0.8 (Ratcliff and Obershelp,
// lower case) and the same type, totaled over all documents. Types that never occur in the truth (objects, places) are
// ignored. `byName` is the original evaluation: every type, names only. events: same category, and quotes that share
// half of the shorter one's words. `byNarrative` is the original evaluation: narratives with a similarity of at least
// 0.6, plus 0.1 for the same actor and 0.1 for similar quotes. search: the first ten documents for questions with
// graded documents. `overAll` counts the others as 0, as the original. graph: for each question about an entity, the
// people who share an event with it, and the documents that mention it (for two entities: both); the mean of F1 over
// the questions with expectations. `overAll` counts questions without connections as 0, as the original.
import { systemClock, systemIds } from '../../src/core/index.ts';
import type { KnowledgeOptions } from '../../src/knowledge/options.ts';
import type { ArtifactType } from '../../src/knowledge/artifacts/types.ts';
import type { StoredEvent } from '../../src/knowledge/events/event-store.ts';
import { searchDefaults } from '../../src/knowledge/search/types.ts';
import { Spaces } from '../../src/knowledge/spaces/spaces.ts';
import type { EvaluationEnvironment, EvaluationReport } from './environment.ts';
import { rankingFigures } from './metrics.ts';
import type { NurData, TrueEvent } from './nur-data.ts';
import { readNurData } from './nur-data.ts';
import type { GraphFigures, Known } from './nur-graph.ts';
import { allEntities, scoreGraph } from './nur-graph.ts';
import type { Score } from './nur-scores.ts';
import { matchAll, nameLikeness, quoteOverlap, textLikeness, together } from './nur-scores.ts';
import type { NurDeps } from './services.ts';
import { openEvaluationServices } from './services.ts';

export interface NurFigures {
  readonly documents: number;
  readonly entities: Score & { readonly byName: Score };
  readonly events: Score & { readonly byNarrative: Score };
  readonly search: {
    readonly queries: number;
    readonly mrr: number;
    readonly ndcg: number;
    readonly overAll: { readonly queries: number; readonly mrr: number; readonly ndcg: number };
  };
  readonly graph: GraphFigures;
}

/** Fails with INPUT_INVALID when the data are not in this layout. */
export async function evaluateNur(folder: string, parts: NurDeps): Promise<NurFigures> {
  const data = await readNurData(folder);
  const uids = await ingestAll(data, parts);
  const known = await allEntities(parts);
  return {
    documents: data.documents.size,
    entities: scoreEntities(data, uids, known),
    events: await scoreEvents(data, uids, parts),
    search: await scoreSearch(data, parts),
    graph: await scoreGraph(data, uids, known, parts),
  };
}

const typeOfFolder: Readonly<Record<string, ArtifactType>> = {
  emails: 'email',
  conversations: 'chat',
  meetings: 'transcript',
};
const pollMs = 20;

/** The path of each document by its artifact. One at a time, because known entities affect resolution. */
async function ingestAll(
  { documents }: NurData,
  { space, artifacts, clock, signal }: NurDeps,
): Promise<ReadonlyMap<string, string>> {
  const paths = new Map<string, string>();
  for (const [path, text] of documents) {
    const type = typeOfFolder[path.split('/', 1)[0] ?? ''] ?? 'doc';
    const request = { content: { text }, type, sourceSystem: 'evaluation', sourceId: path };
    const { artifactUid } = await artifacts.ingest(space, request, signal);
    paths.set(artifactUid, path);
    while (['queued', 'running'].includes((await artifacts.get(space, artifactUid)).status.state))
      await clock.sleep(pollMs, signal);
  }
  return paths;
}

function scoreEntities(
  data: NurData,
  uids: ReadonlyMap<string, string>,
  known: readonly Known[],
): NurFigures['entities'] {
  const judged = new Set(data.allEntities.map(({ type }) => type.toLowerCase()));
  const strict: Score[] = [];
  const byName: Score[] = [];
  for (const [uid, path] of uids) {
    const found = known.filter(({ artifactUids }) => artifactUids.has(uid)).map(({ entity }) => entity);
    const expected = data.entities.get(path);
    if (!expected) continue;
    const ofTypes = found.filter(({ type }) => judged.has(type));
    strict.push(
      matchAll(ofTypes, expected, ({ canonicalName, type }, { name, type: trueType }) =>
        type === trueType.toLowerCase() ? nameLikeness(canonicalName, name) : 0,
      ),
    );
    byName.push(
      matchAll(found, expected, ({ canonicalName }, { name }) => nameLikeness(canonicalName, name)),
    );
  }
  return { ...together(strict), byName: together(byName) };
}

async function scoreEvents(
  data: NurData,
  uids: ReadonlyMap<string, string>,
  { space, events }: NurDeps,
): Promise<NurFigures['events']> {
  const strict: Score[] = [];
  const byNarrative: Score[] = [];
  for (const [artifactUid, path] of uids) {
    const expected = data.events.get(path);
    if (!expected) continue;
    const found = await events.list({ spaceId: space.spaceId, artifactUid, limit: 1_000 });
    strict.push(matchAll(found, expected, sameEvent));
    byNarrative.push(matchAll(found, expected, likeEvent));
  }
  return { ...together(strict), byNarrative: together(byNarrative) };
}

const quoteOf = ({ evidence }: StoredEvent): string => evidence.map(({ quote }) => quote).join(' ');

const sameEvent = (found: StoredEvent, expected: TrueEvent): number =>
  found.category === expected.category ? quoteOverlap(quoteOf(found), expected.evidence_quote) : 0;

function likeEvent(found: StoredEvent, expected: TrueEvent): number {
  if (found.category !== expected.category) return 0;
  const hasActor = found.actors.some(({ name }) => textLikeness(name, expected.actor ?? '') > 0.8);
  const hasQuote = textLikeness(quoteOf(found), expected.evidence_quote) > 0.5;
  const likeness =
    textLikeness(found.narrative, expected.narrative) + (hasActor ? 0.1 : 0) + (hasQuote ? 0.1 : 0);
  return likeness >= 0.6 ? likeness : 0;
}

async function scoreSearch(
  { queries }: NurData,
  { space, search, signal }: NurDeps,
): Promise<NurFigures['search']> {
  const rankings = [];
  for (const { query, relevant_documents: relevant = [] } of queries) {
    const { primaryResults } = await search.search(space, { ...searchDefaults, query, limit: 50 }, signal);
    rankings.push({
      ranking: [...new Set(primaryResults.map(({ sourceId }) => sourceId))],
      judgments: new Map(relevant.map(({ doc, relevance }) => [doc, relevance])),
    });
  }
  const { mrrAt10: mrr, ndcgAt10: ndcg } = rankingFigures(rankings);
  const graded = rankings.filter(({ judgments }) => judgments.size > 0).length;
  const share = graded / Math.max(1, rankings.length);
  return {
    queries: graded,
    mrr,
    ndcg,
    overAll: { queries: rankings.length, mrr: mrr * share, ndcg: ndcg * share },
  };
}

// The report of "npm run eval -- nur": read by rules only.

/** Fails with INPUT_INVALID when the data cannot be used. */
export async function nurReport(
  { database, embedder, whyNoEmbedder }: EvaluationEnvironment,
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
  const services = await openEvaluationServices({
    database,
    clock: systemClock,
    ids: systemIds,
    embedders,
    options,
    signal,
  });
  const space = await new Spaces({ database, clock: systemClock }).ensure(null, 'evaluation');
  const figures = await evaluateNur(data, { ...services, space });
  const { entities, events, search, graph } = figures;
  const row = (name: string, figure: number, note: string): string[] => [name, figure.toFixed(3), note];
  const counts = ({ matched, found, expected }: typeof entities.byName): string =>
    `${matched} correct of ${found} found and ${expected} expected`;
  return {
    heading: `nur: ${figures.documents} documents, ${search.queries} graded questions, read by rules`,
    columns: ['FIGURE', 'VALUE', 'HOW'],
    rows: [
      row('entity F1', entities.f1, `name and type; ${counts(entities)}`),
      row('entity F1, names only', entities.byName.f1, counts(entities.byName)),
      row('event F1', events.f1, `category and quote; ${counts(events)}`),
      row('event F1, narratives', events.byNarrative.f1, counts(events.byNarrative)),
      row('MRR', search.mrr, `${search.overAll.mrr.toFixed(3)} with ungraded questions`),
      row('NDCG', search.ndcg, `${search.overAll.ndcg.toFixed(3)} with ungraded questions`),
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
