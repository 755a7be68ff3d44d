// The property of all lying servers: the vault equals the truth or says `incomplete`, and never marks a false deletion.
import { join } from 'node:path';
import * as fc from 'fast-check';
import { expect, it } from 'vitest';
import { temporaryFolder } from '../services.ts';
import { vaultWorld } from '../vault-world.ts';
import type { Lies } from './lying-server.ts';
import { cases, extractLying, outcomeOf, visible } from './lying-server.ts';

/** Without a lie that a reader cannot get around: such a list must be read completely. */
const isReadable = ({ pages, links, position, total, pagination }: Lies): boolean =>
  position === 'honest' &&
  (pages === 'full' || pages === 'capped' || pages === 'short') &&
  (links === 'none' || links === 'honest') &&
  total !== 'large' &&
  // Pages by number leave out what a short page in the middle did not have.
  !(pagination === 'page' && pages === 'short');

export function testLyingServers(numRuns: number): void {
  it(`has all items or is incomplete, and marks no existing item deleted (T1, T2; ${numRuns} servers)`, async () => {
    // One folder for all: shrinking a failure creates a hundred vaults.
    const folder = await temporaryFolder();
    let run = 0;
    const counts = { completed: 0, incomplete: 0 };
    await fc.assert(
      fc.asyncProperty(cases, async (one) => {
        const world = await vaultWorld(join(folder, `${(run += 1)}.vault`));
        let deletedBefore: readonly number[] = [];
        for (const truth of one.truths) {
          const outcome = outcomeOf(world, extractLying(world, one, truth));
          const expected = sorted(one.lies.pages === 'hidden' ? visible(truth) : truth);
          const isComplete = outcome.state === 'completed';
          counts[isComplete ? 'completed' : 'incomplete'] += 1;
          if (isComplete) expect(outcome.seen).toEqual(expected);
          else expect(outcome.reason).not.toBeNull();
          if (isReadable(one.lies)) expect(outcome).toMatchObject({ state: 'completed' });
          const newlyDeleted = outcome.deleted.filter((id) => !deletedBefore.includes(id));
          expect(newlyDeleted.filter((id) => truth.includes(id))).toEqual([]);
          deletedBefore = outcome.deleted;
        }
        world.close();
      }),
      { numRuns },
    );
    // Neither is rare, or the property would prove little.
    expect(Math.min(counts.completed, counts.incomplete)).toBeGreaterThan(numRuns / 4);
  });
}

const sorted = (items: readonly number[]) => items.toSorted((one, other) => one - other);
