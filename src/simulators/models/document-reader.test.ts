// Names and events that a simulated model extracts.
import { describe, expect, it } from 'vitest';
import type { KnownName } from './scenario.ts';
import { readDocument } from './document-reader.ts';

const mara: KnownName = {
  name: 'Mara Lind',
  aliases: ['M. Lind', 'Mara'],
  type: 'person',
  role: 'CFO',
  email: 'mara@acme.example',
};
const tom: KnownName = { name: 'Tom Reed', aliases: [], type: 'person', email: 'tom@acme.example' };
const dashboard: KnownName = { name: 'Revenue', aliases: [], type: 'object' };
const copy: KnownName = { name: 'Copy of Revenue', aliases: [], type: 'object' };
const knownNames = [mara, tom, dashboard, copy];

interface Reading {
  readonly mentions: readonly { readonly name: string; readonly canonical_name: string }[];
  readonly events: readonly {
    readonly category: string;
    readonly event_time: string | null;
    readonly subject: string | null;
    readonly actors: readonly { readonly name: string; readonly role: string }[];
    readonly evidence: readonly string[];
  }[];
}

const read = (text: string): Reading =>
  readDocument([{ content: `<document>\n${JSON.stringify({ text })}\n</document>` }], knownNames) as Reading;

const decide = (mention: string, ...candidates: readonly string[]) =>
  readDocument(
    [
      {
        content: `<data>\n${JSON.stringify({
          mention: { name: mention },
          candidates: candidates.map((name) => ({ name })),
        })}\n</data>`,
      },
    ],
    knownNames,
  );

describe('a simulated document reader', () => {
  it('finds known names as whole words, each once, longer ones first', () => {
    const { mentions } = read(
      'Copy of Revenue is Mara Lind’s. M. Lind and Marathon runners see Copy of Revenue.',
    );
    expect(mentions.map(({ name, canonical_name: full }) => [name, full])).toEqual([
      ['Copy of Revenue', 'Copy of Revenue'],
      ['Mara Lind', 'Mara Lind'],
    ]);
    expect(read('Revenue, by M. Lind').mentions).toMatchObject([
      { name: 'Revenue' },
      { name: 'M. Lind', canonical_name: 'Mara Lind', role: 'CFO', email: 'mara@acme.example' },
    ]);
  });

  it('treats an initial with a surname as an unknown person', () => {
    expect(read('T. Reed asked.').mentions).toMatchObject([{ name: 'T. Reed', role: null, email: null }]);
  });

  it('extracts events with actors, date, subject and a quote', () => {
    const { events } = read(
      '# Minutes\n\n- Mara Lind decided that Revenue is net\n  from 2026-12-01 on.\n- Tom Reed will tell Mara Lind.\n- No one else was there.',
    );
    expect(events).toMatchObject([
      {
        category: 'Decision',
        event_time: '2026-12-01',
        subject: 'Revenue',
        actors: [{ name: 'Mara Lind', role: 'owner' }],
        evidence: ['Mara Lind decided that Revenue is net\n  from 2026-12-01 on.'],
      },
      { category: 'Commitment', actors: [{ name: 'Tom Reed' }, { name: 'Mara Lind' }] },
    ]);
  });

  it('resolves "I" in a mail to its sender and ignores its header', () => {
    const { events } = read(
      'From: Tom Reed <tom@acme.example>\nSubject: We decided it\n\nI will send it today.',
    );
    expect(events).toMatchObject([{ category: 'Commitment', actors: [{ name: 'Tom Reed', role: 'owner' }] }]);
    expect(events).toHaveLength(1);
  });

  it('decides same, different or uncertain by its known names', () => {
    expect(decide('M. Lind', 'Tom Reed', 'Mara Lind')).toMatchObject({ decision: 'same', candidate: 2 });
    expect(decide('Mara Lind', 'Tom Reed')).toMatchObject({ decision: 'different', candidate: null });
    expect(decide('T. Reed', 'Tom Reed')).toMatchObject({ decision: 'uncertain', candidate: null });
  });

  it.each(['hello', '<document>\nno JSON\n</document>', '<data>\n{}\n</data>', '<document>\n7\n</document>'])(
    'ignores %j',
    (content) => {
      expect(readDocument([{ content }, { content: null }], knownNames)).toBeNull();
    },
  );
});
