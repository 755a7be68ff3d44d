// headworks entities, against a server double.
import { describe, expect, it } from 'vitest';
import type { CliWorldOptions } from '../../../test/support/cli-world.ts';
import { CliWorld } from '../../../test/support/cli-world.ts';
import { CoreError } from '../../core/index.ts';

const at = '2026-03-01T11:00:00.000Z';
const alice = {
  id: '0195a1b2-c3d4-7e5f-8a9b-0c1d2e3f4a51',
  type: 'person',
  canonical_name: 'Alice Chen',
  aliases: ['A. Chen'],
  role: 'PM',
  organization: 'Acme',
  email: null,
  context_clues: [],
  embedding_model: null,
  first_artifact_id: null,
  needs_review: true,
  review_reason: 'uncertain',
  mention_count: 3,
  event_count: 1,
  created_at: at,
  updated_at: at,
};
const bob = {
  ...alice,
  id: '0195a1b2-c3d4-7e5f-8a9b-0c1d2e3f4a52',
  canonical_name: 'A. Chen',
  aliases: [],
};
const pair = {
  id: '0195a1b2-c3d4-7e5f-8a9b-0c1d2e3f4a53',
  entity_a: alice.id,
  entity_b: bob.id,
  confidence: 0.4,
  reason: 'Names and context are inconclusive.',
  evidence: { reasons: ['the initial of the given name'] },
  state: 'open',
  decided_by: null,
  decided_at: null,
  created_at: at,
};
const merge = {
  id: '0195a1b2-c3d4-7e5f-8a9b-0c1d2e3f4a54',
  winner_id: alice.id,
  loser_id: bob.id,
  reason: 'x',
  decided_by: 'admin',
  merged_at: at,
  undone_at: null,
};
const mention = {
  id: '0195a1b2-c3d4-7e5f-8a9b-0c1d2e3f4a55',
  artifact_id: alice.id,
  title: 'Notes',
  surface_form: 'A. Chen',
  start_char: 0,
  end_char: 7,
  method: 'rules',
  confidence: 0.5,
  relation: null,
};
const owned = { ...mention, title: 'Sales', method: 'structured', confidence: 1, relation: 'owner' };
const later = {
  moved: 2,
  unclear: [{ id: '0195a1b2-c3d4-7e5f-8a9b-0c1d2e3f4a56', surface_form: 'Al' }],
};
const detail = { ...alice, mentions: [mention, owned], pairs: [pair], merges: [merge] };
const base = '/api/v1/knowledge';
const asOf = '2026-03-01T12:00:00.000Z';
const otherPair = '0195a1b2-c3d4-7e5f-8a9b-0c1d2e3f4a77';

const world = (options: CliWorldOptions = {}): CliWorld =>
  new CliWorld({
    answer: ({ method, path }) => {
      if (path === `${base}/entities`) return { entities: [alice, bob], next: bob.id };
      if (path === `${base}/pairs`)
        return {
          pairs: [
            { ...pair, a: alice, b: bob, as_of: asOf },
            { ...pair, id: otherPair, a: bob, b: alice, as_of: asOf },
          ],
        };
      if (path.endsWith('/verdict')) return { ...pair, state: 'different' };
      if (path.endsWith('/undo')) return { ...merge, later_mentions: later };
      if (path.startsWith(`${base}/merges`)) return merge;
      if (path.endsWith('/split') || method === 'GET') return detail;
      throw new Error(`unexpected ${method} ${path}`);
    },
    ...options,
  });

describe('headworks entities', () => {
  it('lists the named space with names, reasons and the next page', async () => {
    const here = world();
    expect(
      await here.run(
        'entities',
        '--type',
        'person',
        '--needs-review',
        '--space',
        'hr',
        '--organization',
        'acme',
      ),
    ).toBe(0);
    expect(here.calls[0]).toMatchObject({
      path: `${base}/entities`,
      query: { type: 'person', needs_review: true, space: 'hr', organization: 'acme' },
    });
    expect(here.out).toMatch(/Alice Chen \(Acme\)\s+A\. Chen\s+3\s+1\s+uncertain/);
    expect(here.err).toContain(`--after ${bob.id}`);
    const json = world();
    await json.run('entities', 'list', '--json');
    expect(JSON.parse(json.out)).toEqual({ entities: [alice, bob], next: bob.id });
  });

  it('shows one with mentions, merges and pairs', async () => {
    const here = world();
    expect(await here.run('entities', 'get', alice.id)).toBe(0);
    expect(here.out).toContain(merge.id);
    expect(here.out).toContain(pair.id);
    expect(here.out).toMatch(/A\. Chen\s+–\s+Notes\s+rules, 50%/);
    expect(here.out).toMatch(/A\. Chen\s+owner\s+Sales\s+structured, 100%/);
  });

  it('asks for confirmation before a merge, prints how to undo it, and undoes it', async () => {
    const no = world({ stdin: 'n\n' });
    expect(await no.run('entities', 'merge', alice.id, bob.id)).toBe(1);
    expect(no.calls.map(({ method }) => method)).toEqual(['GET', 'GET']);
    const yes = world({ stdin: 'y\n' });
    expect(await yes.run('entities', 'merge', alice.id, bob.id, '--reason', 'x')).toBe(0);
    expect(yes.calls.at(-1)).toMatchObject({
      path: `${base}/merges`,
      body: { winner_id: alice.id, loser_id: bob.id, reason: 'x' },
    });
    expect(yes.err).toContain(`entities undo-merge ${merge.id}`);
    const elsewhere = world();
    await elsewhere.run('entities', 'merge', alice.id, bob.id, '--force', '--space', 'hr');
    expect(elsewhere.calls.at(-1)).toMatchObject({
      query: { space: 'hr' },
      body: { reason: 'Merged by hand.' },
    });
    const silent = world();
    expect(await silent.run('entities', 'merge', alice.id, bob.id, '--json')).toBe(2);
    expect(await silent.run('entities', 'merge', alice.id, bob.id, '--json', '--force')).toBe(0);
    expect(await silent.run('entities', 'undo-merge', merge.id)).toBe(0);
    expect(silent.calls.at(-1)).toMatchObject({
      method: 'POST',
      path: `${base}/merges/${merge.id}/undo`,
    });
    expect(silent.out).toContain('2 later mentions under its name moved back with it.');
    expect(silent.out).toMatch(/1 later mention may be of either[^]*0c1d2e3f4a56\s+Al/);
    expect(silent.err).toContain(`entities split ${alice.id} MENTION --name NAME`);
  });

  it('splits mentions off an entity', async () => {
    const here = world();
    expect(await here.run('entities', 'split', alice.id, mention.id, '--name', 'Alice Wong')).toBe(0);
    expect(here.calls[0]).toMatchObject({ body: { mention_ids: [mention.id], name: 'Alice Wong' } });
    expect(here.err).toMatch(new RegExp(`Undo it with: .* entities merge ${alice.id}`));
    expect(await here.run('entities', 'split', alice.id, mention.id)).toBe(2);
  });

  it('reviews pairs one by one on a terminal, lists them elsewhere, and decides one by flags', async () => {
    const terminal = world({ isTty: true, stdin: 'd\n' });
    expect(await terminal.run('entities', 'review')).toBe(0);
    const verdicts = terminal.calls.filter(({ path }) => path.endsWith('/verdict'));
    const verdictBody = { verdict: 'different', as_of: asOf };
    expect(verdicts.map(({ body }) => body)).toEqual([verdictBody, verdictBody]);
    expect(terminal.out).toContain('2 of 2');
    expect(terminal.out).toContain('2 pairs decided.');
    const merging = world({ isTty: true, stdin: 's\n' });
    await merging.run('entities', 'review');
    // After a merge the other pairs are read again: they may have changed.
    const paths = merging.calls.map(({ path }) => path.slice(`${base}/pairs`.length));
    expect(paths).toEqual(['', `/${pair.id}/verdict`, '', `/${otherPair}/verdict`, '']);
    const overtaken = new CliWorld({
      isTty: true,
      stdin: 'd\n',
      answer: ({ path }) => {
        if (path === `${base}/pairs`) return { pairs: [{ ...pair, a: alice, b: bob, as_of: asOf }] };
        throw new CoreError('CONFLICT', 'Another decision came first.');
      },
    });
    expect(await overtaken.run('entities', 'review')).toBe(0);
    expect(overtaken.out).toMatch(/Another decision came first\.\n0 pairs decided\./);
    const stopped = world({ isTty: true, stdin: 'q\n' });
    await stopped.run('entities', 'review');
    expect(stopped.calls).toHaveLength(1);
    const piped = world();
    expect(await piped.run('entities', 'review')).toBe(0);
    expect(piped.out).toContain('the initial of the given name');
    const elsewhere = world({ env: { npm_package_name: 'headworks' } });
    await elsewhere.run('entities', 'review', '--space', 'h r', '--data-dir', '/srv/it');
    expect(elsewhere.err).toContain(
      "with: npm run -s headworks -- entities review --pair PAIR --verdict same --space 'h r' --data-dir /srv/it\n",
    );
    expect(piped.out).toContain('Alice Chen (Acme)');
    expect(await piped.run('entities', 'review', '--pair', pair.id, '--verdict', 'different')).toBe(0);
    expect(piped.out).toContain('different');
    expect(await piped.run('entities', 'review', '--pair', pair.id)).toBe(2);
  });
});
