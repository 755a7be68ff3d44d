import { describe, expect, it } from 'vitest';
import type { ContextClues, EntityType } from '../reading/types.ts';
import { withCoMentions } from './candidates.ts';
import type { CandidateEntity } from './types.ts';
import { cleanClues, profileOf } from './compare-clues.ts';
import { matchProfiles } from './match.ts';

const profile = (
  name: string,
  clues: ContextClues = {},
  type: EntityType = 'person',
  coMentions: string[] = [],
) => profileOf(type, [name], cleanClues(clues, name), coMentions);

const alone = { isInArtifact: false, cosine: null };

const verdict = (
  a: ReturnType<typeof profile>,
  b: ReturnType<typeof profile>,
  context: { isInArtifact: boolean; cosine: number | null } = alone,
) => matchProfiles(a, b, context).verdict;

describe('names of people', () => {
  it.each([
    ['Bob Smith', 'Robert Smith'],
    ['Smith, Robert', 'Rob Smith'],
    ['Chen, Alice', 'Alice Chen'],
    ['Jacoob Andersen', 'Jacob Andersen'],
    ['Robert Abbtot', 'Robert Abbott'],
    ['bobsmith', 'Bob Smith'],
    ['Ludwig van der Berg', 'van der Berg, Ludwig'],
  ])('are the same: %s, %s', (a, b) => {
    expect(verdict(profile(a), profile(b))).toBe('same');
    expect(verdict(profile(b), profile(a))).toBe('same');
  });

  it.each([
    ['A. Chen', 'Alice Chen'],
    ['Alice', 'Alice Chen'],
    ['Mr. Chen', 'Alice Chen'],
    ['bsmith', 'Bob Smith'],
    ['Maria Lopez', 'Mario Lopez'],
    ['John Johnson', 'John Johnston'],
    ['Alice Smith', 'Alice Smith Jones'],
    ['Alice M. Chen', 'Alice Chen'],
    ['Walter James Hobbs', 'Walter J. Hobbs'],
    ['Walter James Paul Hobbs', 'Walter Paul Hobbs'],
    ['Bob Hobbs', 'Robert James Hobbs'],
  ])('are uncertain: %s, %s', (a, b) => {
    expect(verdict(profile(a), profile(b))).toBe('uncertain');
  });

  it.each([
    ['Alice Chen', 'Bob Chen'],
    ['Alice Chen', 'Alice Wong'],
    ['Alexander Reed', 'Alexandra Reed'],
    ['John A. Smith', 'John B. Smith'],
    ['John Smith Jr.', 'John Smith Sr.'],
    ['Alice', 'Bob'],
    ['A. Chen', 'Bob Chen'],
  ])('are different: %s, %s', (a, b) => {
    expect(verdict(profile(a), profile(b))).not.toBe('same');
  });

  it('match a short name to the full name in the same artifact', () => {
    const here = { isInArtifact: true, cosine: null };
    for (const short of ['Alice', 'A. Chen', 'achen', 'Chen', 'Alice M. Chen'])
      expect(verdict(profile(short), profile('Alice Chen'), here), short).toBe('same');
    expect(verdict(profile('Bob'), profile('Alice Chen'), here)).toBe('different');
    expect(verdict(profile('Jon Smith'), profile('Joan Smith'), here)).not.toBe('same');
  });
});

describe('an entity with several names', () => {
  const known = (...names: string[]) => profileOf('person', names, cleanClues({ organization: 'Acme' }));
  const at = (name: string) => profile(name, { organization: 'Acme' });

  it('does not match another person with the same initials', () => {
    expect(verdict(at('Jennifer Harris'), known('Julia Harris', 'J. Harris'))).toBe('different');
    expect(verdict(at('J. Harris'), known('Julia Harris', 'J. Harris'))).toBe('same');
  });

  it('matches a part of a name within one artifact only, or with an address (T5)', () => {
    const alice = profileOf('person', ['Alice Chen', 'Alice'], cleanClues({ organization: 'Acme' }));
    const here = { isInArtifact: true, cosine: null };
    for (const name of ['Alice', 'Chen'])
      for (const clues of [{}, { organization: 'Acme', role: 'CFO' }]) {
        expect(verdict(profile(name, clues), alice), name).toBe('uncertain');
        expect(verdict(profile(name, clues), profile(name, clues)), name).toBe('uncertain');
        expect(verdict(profile(name, clues), alice, here), name).toBe('same');
      }
    const colleagues = ['bob', 'eve', 'dan'];
    const at = (name: string) => profile(name, { organization: 'Acme' }, 'person', colleagues);
    expect(matchProfiles(at('Alice'), at('Alice Chen'), alone)).toMatchObject({
      verdict: 'uncertain',
      veto: 'a part of a name, in another document',
    });
    const email = 'alice@acme.com';
    expect(verdict(profile('Alice', { email }), profile('Alice Chen', { email }))).toBe('same');
    // Whole names in scripts without spaces.
    expect(verdict(profile('王小明'), profile('王小明'))).toBe('same');
  });
});

describe('context', () => {
  it('contradicts the same name with another organization or address', () => {
    const acme = profile('Alice Chen', { organization: 'Acme Corp' });
    expect(verdict(profile('Alice Chen', { organization: 'OtherCorp' }), acme)).toBe('different');
    expect(verdict(profile('Alice Chen', { organization: 'Acme' }), acme)).toBe('same');
    expect(verdict(profile('Alice Chen', { organization: 'Acme Labs' }), acme)).toBe('same');
    expect(verdict(profile('Alice Chen', { email: 'alice@zenith.com' }), acme)).toBe('different');
    expect(verdict(profile('Alice Chen', { email: 'achen@gmail.com' }), acme)).toBe('same');
    const one = profile('Alice Chen', { email: 'alice@acme.com' });
    expect(verdict(profile('Alice Chen', { email: 'alice.chen@acme.com' }), one)).toBe('same');
    expect(verdict(profile('Alice Chen', { email: 'alice@zenith.com' }), one)).toBe('different');
  });

  it('takes the employer from the registrable domain of an address', () => {
    const at = (email: string) => profile('Alice Chen', { email });
    // Two companies under a country's second level; before, both were "co".
    expect(verdict(at('alice@acme.co.uk'), profile('Alice Chen', { organization: 'Zenith' }))).toBe(
      'different',
    );
    const reasons = matchProfiles(
      at('ac@acme.co.uk'),
      profile('Alice Chen', { organization: 'Acme' }),
      alone,
    );
    expect(reasons.reasons).toContain('the same organization');
    expect(verdict(at('a.chen@mail.acme.com.au'), profile('A. Chen', { organization: 'Acme' }))).toBe('same');
    expect(verdict(at('a.chen@one.github.io'), profile('A. Chen', { organization: 'GitHub' }))).toBe(
      'different',
    );
    // A provider of mailboxes is no employer, under any suffix.
    for (const domain of ['yahoo.co.uk', 'gmail.com', 'hotmail.fr', 'web.de'])
      expect(verdict(at(`ac@${domain}`), profile('Alice Chen', { organization: 'Acme' })), domain).toBe(
        'same',
      );
    expect(verdict(at('ac@live.acme.com'), profile('Alice Chen', { organization: 'Zenith' }))).toBe(
      'different',
    );
    // Without a name below the suffix there is no employer.
    expect(verdict(at('ac@co.uk'), profile('Alice Chen', { organization: 'Acme' }))).toBe('same');
  });

  it('makes two people different even if all other clues agree', () => {
    const around = (organization: string) =>
      profile(
        'Alice Chen',
        { organization, role: 'CFO', notes: ['born: 19831024', 'city: garbutt'] },
        'person',
        ['bob', 'eve'],
      );
    expect(matchProfiles(around('OtherCorp'), around('Acme'), alone)).toMatchObject({
      verdict: 'different',
      reasons: expect.arrayContaining(['they belong to different organizations']) as string[],
    });
    expect(verdict(around('Acme'), around('Acme'))).toBe('same');
  });

  it('decides uncertain names by address, organization, role or co-mentions', () => {
    const full = (clues: ContextClues, coMentions?: string[]) =>
      profile('Alice Chen', clues, 'person', coMentions);
    const short = (clues: ContextClues, coMentions?: string[]) =>
      profile('A. Chen', clues, 'person', coMentions);
    expect(verdict(short({ email: 'ac@acme.com' }), full({ email: 'AC@acme.com' }))).toBe('same');
    expect(verdict(short({ organization: 'Acme' }), full({ organization: 'Acme Inc.' }))).toBe('same');
    expect(verdict(short({ role: 'CFO' }), full({ role: 'CFO' }))).toBe('uncertain');
    expect(verdict(short({}, ['bob', 'eve']), full({}, ['eve', 'bob', 'dan']))).toBe('same');
    // A shared mailbox belongs to no single person.
    expect(verdict(profile('Bob Lee', { email: 'info@acme.com' }), full({ email: 'info@acme.com' }))).toBe(
      'different',
    );
  });

  it.each([
    ['Daniel Johnson', 'Daniel Johnston'],
    ['Robert Philips', 'Robert Phillips'],
    ['Maria Lopez', 'Mario Lopez'],
    ['Johnson', 'Johnston'],
  ])('shared by colleagues does not make %s and %s the same', (a, b) => {
    const clues = { organization: 'Acme', role: 'Engineer' };
    const at = (name: string, more: ContextClues = {}) =>
      profile(name, { ...clues, ...more }, 'person', ['bob', 'eve']);
    expect(verdict(at(a), at(b))).toBe('uncertain');
    expect(verdict(at(a), at(b), { isInArtifact: true, cosine: null })).toBe('uncertain');
    // An address belongs to one person, unless the given names are two names.
    const sharing = verdict(at(a, { email: 'dj@acme.com' }), at(b, { email: 'dj@acme.com' }));
    expect(sharing).toBe(a.startsWith('Maria') ? 'uncertain' : 'same');
  });

  it('compares records field by field', () => {
    const notes = [
      'born: 19831024',
      'number: 8099933',
      'street: ramsay place',
      'city: garbutt',
      'code: 2260',
    ];
    const record = (name: string, others = notes) => profile(name, { notes: others });
    expect(verdict(record('luke purdon'), record('lkue purdno'))).toBe('same');
    expect(verdict(record('luke purdon'), record('purdon'))).toBe('same');
    expect(
      verdict(
        record('luke purdon'),
        record('luke purdon', ['born: 19550101', 'number: 1112223', 'city: perth']),
      ),
    ).not.toBe('same');
    expect(verdict(record('luke purdon', ['city: perth']), record('anna weber', ['city: perth']))).toBe(
      'different',
    );
  });
});

describe('a contradiction (T5)', () => {
  const email = 'household@hollow.example';
  const everything: ContextClues = {
    email,
    organization: 'Hollow Creek Mills',
    role: 'Director',
    notes: ['born: 19710412', 'phone: 555812934', 'street: 12 mill lane'],
  };
  const all = (name: string, type: EntityType = 'person') =>
    profile(name, everything, type, ['ines duarte', 'tomas varga', 'olga brandt']);

  it.each([
    ['Walter James Hobbs', 'Walter Kevin Hobbs'],
    ['Walter J. Hobbs', 'Walter K. Hobbs'],
    ['W. James Hobbs', 'Walter Kevin Hobbs'],
    ['Otis Penrose Jr.', 'Otis Penrose Sr.'],
    ['Otis Penrose II', 'Otis Penrose III'],
    ['Penrose Jr.', 'Otis Penrose Sr.'],
    ['Mr. Farnham', 'Mrs. Farnham'],
    ['Mr. Robin Farnham', 'Ms. Robin Farnham'],
    ['Herr Vogel', 'Frau Vogel'],
  ])('of %s and %s makes them different, whatever else agrees', (a, b) => {
    for (const isInArtifact of [false, true])
      for (const [one, other] of [
        [all(a), all(b)],
        [all(b), all(a)],
      ] as const)
        expect(matchProfiles(one, other, { isInArtifact, cosine: 0.99 })).toMatchObject({
          verdict: 'different',
          veto: expect.any(String) as string,
        });
  });

  it.each([
    ['Otis Penrose Jr.', 'Otis Penrose'],
    ['Jordan Lee', 'Lee Jordan'],
    ['Taylor Morgan', 'Morgan Taylor'],
    ['Castellan Nora', 'Nora Castellan'],
    ['Sam Whitlock', 'Samantha Whitlock'],
    ['Alex Whitlock', 'Alexandra Whitlock'],
    ['Chris Whitlock', 'Christine Whitlock'],
    ['Martin Whitlock', 'Martina Whitlock'],
    // Twins, and a change of the surname.
    ['Nora Whitlock', 'Luke Whitlock'],
    ['Nora Whitlock', 'Nora Castellan'],
    ['Nora', 'Luke'],
  ])('of %s and %s leaves them to a person, whatever else agrees', (a, b) => {
    for (const isInArtifact of [false, true])
      for (const [one, other] of [
        [all(a), all(b)],
        [all(b), all(a)],
      ] as const) {
        const match = matchProfiles(one, other, { isInArtifact, cosine: 0.99 });
        expect(match).toMatchObject({ verdict: 'uncertain', veto: expect.any(String) as string });
      }
    expect(verdict(profile(a), profile(b))).not.toBe('same');
  });

  it('counts for all names that the two are known by', () => {
    const known = (...names: string[]) => profileOf('person', names, cleanClues(everything));
    const different = (a: ReturnType<typeof known>, b: ReturnType<typeof known>) => {
      expect(verdict(a, b)).toBe('different');
      expect(verdict(b, a)).toBe('different');
    };
    different(known('Walter P. Hobbs', 'Walter James Hobbs'), known('Walter Kevin Hobbs'));
    different(known('Walter J. Hobbs', 'Walter James Hobbs'), known('Walter John Hobbs'));
    // Which of the two "Walter Hobbs" is, a person decides.
    const bare = known('Walter Hobbs', 'Walter James Hobbs');
    expect(verdict(bare, known('Walter Kevin Hobbs'))).toBe('uncertain');
    expect(verdict(bare, known('Walter Hobbs', 'Walter Kevin Hobbs'))).toBe('uncertain');
    // Ann Jones and Ann Smith may both be Ann Smith-Jones.
    expect(
      matchProfiles(known('Ann Smith-Jones', 'Ann Jones'), known('Ann Smith'), {
        isInArtifact: false,
        cosine: null,
      }).veto,
    ).toMatch(/different surnames/);
    different(known('Otis Penrose', 'Otis Penrose Sr.'), known('Otis Penrose Jr.', 'Otis'));
    const weber = profileOf('person', ['Peter Weber', 'Peter'], cleanClues({}));
    const klein = profileOf('person', ['Peter Klein', 'Peter', 'P. Klein'], cleanClues({}));
    for (const isInArtifact of [false, true])
      expect(verdict(weber, klein, { isInArtifact, cosine: null })).toBe('different');
    // What a person has merged stays known under all of its names.
    expect(verdict(known('Walter James Hobbs', 'Walter Kevin Hobbs'), known('Walter Kevin Hobbs'))).toBe(
      'same',
    );
    expect(verdict(known('Otis Penrose', 'Otis Penrose Jr.'), known('Otis Penrose'))).toBe('same');
  });

  it.each([
    ['organization', 'Acme', 'Acme AG', 'Acme GmbH'],
    ['project', 'Phoenix', 'Phoenix project', 'Phoenix team'],
  ] as const)('is not overridden by a name that two %ss share: %s', (type, shared, a, b) => {
    const known = (...names: string[]) => profileOf(type, names, cleanClues({}));
    expect(verdict(known(shared, a), known(b))).not.toBe('same');
    expect(verdict(known(shared, a), known(shared, b))).not.toBe('same');
    expect(verdict(known(a), known(shared))).toBe('same');
    expect(verdict(known(a, b), known(b))).toBe('same');
  });

  it.each([
    ['Otis Penrose Jr.', 'Penrose, Otis, Jr.'],
    ['Mrs. Nora Whitlock', 'Nora Whitlock'],
    ['Mrs. Nora Whitlock', 'Ms. Nora Whitlock'],
    ['Bob Whitlock', 'Robert Whitlock'],
    ['Castellan, Nora', 'Nora Castellan'],
  ])('is none between %s and %s', (a, b) => {
    expect(verdict(profile(a), profile(b))).toBe('same');
    expect(verdict(profile(b), profile(a))).toBe('same');
  });

  it.each([
    ['place', 'Mexico', 'Mexico City'],
    ['place', 'Kansas', 'Kansas City'],
    ['place', 'North America', 'South America'],
    ['place', 'America', 'North America'],
    ['place', 'East Sussex', 'West Sussex'],
    ['place', 'Upper Egypt', 'Lower Egypt'],
    ['project', 'Rollout Phase II', 'Rollout Phase III'],
    ['project', 'Plan A', 'Plan B'],
    ['project', 'Inbound Routing', 'Outbound Routing'],
    ['object', 'Revenue Dashboard', 'Revenue Report'],
    ['object', 'Revenue Report', 'Revenue Team'],
    ['organization', 'Bank of North Dakota', 'Bank of South Dakota'],
    ['organization', 'First Credit Union', 'Third Credit Union'],
  ] as const)('between things: %s %s, %s', (type, a, b) => {
    for (const [one, other] of [
      [a, b],
      [b, a],
    ] as const)
      expect(
        matchProfiles(all(one, type), all(other, type), { isInArtifact: true, cosine: 0.99 }),
      ).toMatchObject({
        verdict: 'different',
        veto: expect.any(String) as string,
      });
  });

  it('is not a typo between two words of the dictionary', () => {
    const org = (name: string) => profile(name, {}, 'organization');
    expect(verdict(org('Harbor Food Trading'), org('Harbor Foot Trading'))).toBe('different');
    expect(verdict(org('Harbor Castellan Trading'), org('Harbor Castelan Trading'))).toBe('same');
  });
});

describe('names of companies and things', () => {
  const org = (name: string) => profile(name, {}, 'organization');
  const thing = (name: string) => profile(name, {}, 'project');

  it('consider legal forms, acronyms, word order and numbers', () => {
    expect(verdict(org('Acme Corporation'), org('ACME Corp.'))).toBe('same');
    expect(verdict(org('Acme'), org('Acme, Inc.'))).toBe('same');
    expect(verdict(org('Acme GmbH'), org('Acme LLC'))).toBe('uncertain');
    expect(verdict(org('IBM'), org('International Business Machines'))).toBe('uncertain');
    expect(verdict(org('I.B.M.'), org('IBM'))).toBe('same');
    expect(verdict(org('Acme Labs'), org('Acme Capital'))).toBe('different');
    expect(verdict(thing('the Phoenix project'), thing('Project Phoenix'))).toBe('same');
    expect(verdict(thing('Q1 Roadmap'), thing('Q2 Roadmap'))).toBe('different');
    expect(verdict(thing('Customer Portals'), thing('customer portal'))).toBe('same');
  });

  it('of different types are different, unless one type is unknown', () => {
    expect(verdict(profile('Morgan'), org('Morgan'))).toBe('different');
    expect(verdict(profile('Atlas', {}, 'object'), thing('Atlas'))).toBe('same');
    expect(verdict(profile('Atlas', {}, 'other'), org('Atlas'))).toBe('uncertain');
    for (const [a, b] of [
      [profile('Alice Chen', {}, 'other'), profile('Alice Chen')],
      [profile('Alice Chen'), profile('Chen, Alice', {}, 'other')],
    ] as const)
      expect(verdict(a, b)).toBe('uncertain');
    // A part of a name is no evidence when the type is unknown.
    expect(verdict(profile('Phoenix', {}, 'other'), profile('Phoenix Reed'))).toBe('different');
    expect(
      verdict(
        profile('Alice Chen', { email: 'a@x.example' }, 'other'),
        profile('Alice Chen', { email: 'b@y.example' }),
      ),
    ).toBe('different');
    expect(verdict(profile('Atlas', {}, 'place'), org('Atlas'))).toBe('different');
  });

  it('suggested by vectors are uncertain, never the same; people are not suggested', () => {
    const near = { isInArtifact: false, cosine: 0.97 };
    expect(matchProfiles(thing('Client Gateway'), thing('Customer Portal'), near)).toMatchObject({
      verdict: 'uncertain',
      isByVectorOnly: true,
    });
    expect(verdict(profile('Alice Chen'), profile('Bob Smith'), near)).toBe('different');
    expect(verdict(thing('Q1 Roadmap'), thing('Q2 Roadmap'), near)).toBe('different');
  });
});

describe('source ids', () => {
  const folder = (name: string, id: string, source = 'looker a') =>
    profile(name, { identity: `${source}#folder/${id}` }, 'other');
  const model = (name: string) => profile(name, { identity: `looker a#model/${name}` }, 'object');

  it('distinguish equal names: a folder and a model, two folders', () => {
    expect(verdict(folder('Finance', '1'), model('finance'))).toBe('different');
    expect(verdict(folder('Archive', '1'), folder('Archive', '2'))).toBe('different');
    expect(verdict(folder('Archive', '1'), model('archive'), { isInArtifact: true, cosine: 0.99 })).toBe(
      'different',
    );
  });

  it('match whatever the name is now', () => {
    expect(verdict(folder('Finance', '1'), folder('Controlling & Tax', '1'))).toBe('same');
  });

  it('are not compared when only one side has one or the sources differ', () => {
    expect(verdict(profile('Finance', {}, 'other'), folder('Finance', '1'))).toBe('same');
    expect(verdict(folder('Finance', '1', 'looker b'), folder('Finance', '1'))).toBe('same');
    expect(verdict(folder('Sales', '1', 'looker b'), folder('Finance', '1'))).toBe('different');
  });

  it('do not override the email address of a person', () => {
    const user = (id: string, email?: string) =>
      profile('Ann Lee', { identity: `looker a#user/${id}`, ...(email === undefined ? {} : { email }) });
    expect(verdict(user('1', 'ann@x.org'), user('2', 'ann@x.org'))).toBe('same');
    expect(verdict(user('1', 'ann@x.org'), user('1', 'ann@y.org'))).toBe('same');
    expect(verdict(user('1'), user('2'))).toBe('different');
  });

  it("are not accepted from a reader's notes", () => {
    const forged = profile('Finance', { notes: ['source id: looker a#folder/1'] }, 'other');
    expect(forged.notes).toEqual([]);
  });
});

describe('withCoMentions', () => {
  it('returns the same object without names: comparisons are cached by the identity of a profile', () => {
    const candidate = { profile: profile('Alice Chen', {}) } as CandidateEntity;
    expect(withCoMentions(candidate, undefined)).toBe(candidate);
    expect(withCoMentions(candidate, ['Bob Smith']).profile.coMentions).toEqual(['bob smith']);
  });
});
