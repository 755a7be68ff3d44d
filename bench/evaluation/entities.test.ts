import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import { seededRandom, systemClock, systemIds } from '../../src/core/index.ts';
import type { EntityResolver } from '../../src/knowledge/entities/resolve-mentions.ts';
import { evaluateEntities, pairScores } from './entities.ts';
import { nicknamesOf, readCsv, recordsOf } from './entity-records.ts';
import { generateNames } from './generated-names.ts';

describe('evaluation of entities', () => {
  it('counts pairs', () => {
    expect(pairScores(['a', 'a', 'a', 'b'], ['1', '1', '2', '2'])).toMatchObject({
      truePairs: 3,
      foundPairs: 2,
      correctPairs: 1,
      precision: 0.5,
      entities: 2,
    });
    expect(pairScores(['a', 'b'], ['1', '2'])).toMatchObject({ precision: 1, recall: 1 });
  });

  it('reads records with any columns, quoted or padded, and nicknames', () => {
    const table = readCsv(
      'rec_id, given_name, surname, "street, number", email\nrec-7-org, ann, lee, "1 ""A""", a@b.co\nrec-7-dup-0, , lee, ,\n',
    );
    expect(recordsOf(table)).toEqual([
      {
        truth: 'rec-7',
        type: 'person',
        name: 'ann lee',
        clues: { email: 'a@b.co', notes: ['street, number: 1 "A"'] },
      },
      { truth: 'rec-7', type: 'person', name: 'lee', clues: { notes: [] } },
    ]);
    expect(
      nicknamesOf(readCsv('name1,relationship,name2\nann,has_nickname,nan\nann,has_nickname,annie\n')),
    ).toEqual(new Map([['ann', ['nan', 'annie']]]));
  });

  it('generates the same names with variants from the same seed', () => {
    const make = () => generateNames(seededRandom(3), { people: 20, companies: 5 }, new Map());
    expect(make()).toEqual(make());
    expect(new Set(make().map(({ truth }) => truth)).size).toBe(25);
  });

  it('scores a resolver on the files under a path and rejects an empty path', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'headworks-test-'));
    onTestFinished(() => rm(folder, { recursive: true }));
    const byName: Pick<EntityResolver, 'resolve'> = {
      resolve: async (mentions) =>
        mentions.map(({ canonicalSuggestion: name }) => ({
          entityId: name,
          isNew: true,
          mergedFrom: null,
          uncertainMatch: null,
          byName: null,
          canonicalName: name,
        })),
    };
    const parts = {
      resolver: byName,
      newPlace: async () => ({ spaceId: 1, revisionId: systemIds.uuid() }),
      clock: systemClock,
      ids: systemIds,
      signal: new AbortController().signal,
      counts: { people: 3, companies: 2 },
    };
    await expect(evaluateEntities(folder, parts)).rejects.toMatchObject({ code: 'INPUT_INVALID' });
    await expect(evaluateEntities(join(folder, 'none'), parts)).rejects.toMatchObject({
      code: 'INPUT_INVALID',
    });
    await writeFile(join(folder, 'people.csv'), 'truth,name,role,born\n1,ann,cfo,1970\n1,ann,,\n2,bob,,\n');
    const notes: unknown[] = [];
    const recording: typeof byName = {
      resolve: (mentions, ...rest) => {
        notes.push(mentions[0]?.contextClues);
        return byName.resolve(mentions, ...rest);
      },
    };
    const { sets } = await evaluateEntities(folder, { ...parts, resolver: recording });
    expect(sets.map(({ set }) => set)).toEqual([
      'people.csv, as documents have them',
      'people.csv, all columns',
      'generated people',
      'generated companies',
    ]);
    expect(sets[0]).toMatchObject({ records: 3, precision: 1, recall: 1 });
    // The figure that users can reach has no columns that they cannot bring.
    expect(notes.slice(0, 4)).toEqual([{ role: 'cfo' }, {}, {}, { role: 'cfo', notes: ['born: 1970'] }]);
  });
});
