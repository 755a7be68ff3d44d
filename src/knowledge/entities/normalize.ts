// Normalizes names: case, accents, punctuation and invisible characters removed, company forms unified. Parses person
// names.
import { createHash } from 'node:crypto';
import type { EntityType } from '../reading/types.ts';
import { truncate } from '../text/spans.ts';

/** Characters that are invisible or control how others are displayed. */
const invisible = /[\p{Cf}\p{Cc}\p{Co}\u034f\u115f\u1160\u17b4\u17b5\u180e\u2800\u3164\uffa0]/gu;

/** The name of an entity without any visible character. Stored. */
export const unnamedEntityName = '(no visible name)';

const maxNameLength = 300;

/** The name as it is displayed and stored: one line, valid for Postgres, nothing invisible, at most 300 characters. */
export const visibleName = (name: string): string => truncate(cleanName(name), maxNameLength);

/** Text beyond this length is not part of a name. */
const maxTextLength = 20_000;

function cleanName(name: string): string {
  if (/^[\w.@-]+( [\w.@-]+)*$/.test(name) && name.length <= maxNameLength) return name;
  const clean = name
    .slice(0, maxTextLength)
    .toWellFormed()
    .replaceAll(/[\p{Zl}\p{Zp}\p{Zs}\t\n\r]+/gu, ' ')
    .replaceAll(invisible, '')
    .replaceAll('\ufffd', '')
    .replaceAll(/ +/g, ' ')
    .trim();
  return clean === '' ? unnamedEntityName : clean;
}

export const isUnnamed = (name: string): boolean => visibleName(name) === unnamedEntityName;

/** Letters that do not decompose into a letter and an accent. */
const spelledOut: ReadonlyMap<string, string> = new Map(
  Object.entries({ ß: 'ss', ø: 'o', ł: 'l', đ: 'd', æ: 'ae', œ: 'oe', ð: 'd', þ: 'th', ı: 'i' }),
);

/** Lower case, no accents or punctuation, words separated by one space. `+` and `#` stay at the end of a word. */
export function plainWords(text: string): string {
  // Fast path for most names: a tenth of the time.
  if (/^[a-z0-9 ]*$/i.test(text)) return text.toLowerCase().replaceAll(/ +/g, ' ').trim();
  return text
    .normalize('NFKD')
    .replaceAll(/[\u0300-\u036f]/g, '')
    .toLowerCase()
    .normalize('NFC')
    .replaceAll(/[ßøłđæœðþı]/g, (letter) => spelledOut.get(letter) ?? letter)
    .replaceAll(/['’`´ʼ]/g, '')
    .replaceAll('&', ' and ')
    .replaceAll(/(?<=[\p{L}\p{N}+#])[+#](?=[+#\s]|$)/gu, (sign) => (sign === '+' ? '\ue000' : '\ue001'))
    .replaceAll(/[^\p{L}\p{N}\p{M}\ue000\ue001]+/gu, ' ')
    .replaceAll('\ue000', '+')
    .replaceAll('\ue001', '#')
    .trim();
}

/**
 * The distinctive words of a name. A person's lose titles and the possessive 's and are ordered "First Last"; a
 * company's legal form is unified. A name without letters or digits is its own word.
 */
export function nameTokens(name: string, type: EntityType): readonly string[] {
  const clean = cleanName(name);
  if (clean === unnamedEntityName) return [];
  const tokens =
    type === 'person'
      ? personTokens(clean)
      : plainWords(clean)
          .split(' ')
          .map((word) => (type === 'organization' ? (companyForms.get(word) ?? word) : word));
  const words = tokens.filter(Boolean);
  if (words.length > 0) return words;
  const symbols = clean.toLowerCase().replaceAll(' ', '');
  return symbols === '' ? [] : [symbols];
}

function personTokens(clean: string): readonly string[] {
  const withoutPossessive = clean.replace(/['’]s$/iu, '');
  const local = handleOf(withoutPossessive);
  if (local !== null)
    return plainWords(local.replaceAll(/[._\-+]+/g, ' ').replaceAll(/\d+/g, ' ')).split(' ');
  const [last = '', first = '', ...more] = withoutPossessive.split(',');
  const isSuffix = (word: string) => generations.has(word) || degrees.has(word);
  const firstWords = plainWords(first).split(' ').filter(Boolean);
  const isSurnameFirst = firstWords.length > 0 && !firstWords.every(isSuffix);
  const words = plainWords(isSurnameFirst ? [first, last, ...more].join(' ') : withoutPossessive)
    .split(' ')
    .filter((word) => !degrees.has(word));
  const start = words.findIndex((word) => !titles.has(word));
  return start === -1 ? words : words.slice(start);
}

/** The part of an email address or handle that may be a name: `alice.chen` of `alice.chen@acme.com`; else null. */
export function handleOf(name: string): string | null {
  return (
    /^([^\s@<>]+)@[^\s@<>]+\.[^\s@<>.]+$/.exec(name)?.[1] ??
    /^@([\p{L}\p{N}._-]+)$/u.exec(name)?.[1] ??
    /^([\p{L}\p{N}]+(?:[._][\p{L}\p{N}]+)+)$/u.exec(name)?.[1] ??
    null
  );
}

/** The stored key of a name, equal for names that differ only in notation. Never empty, at most 300 characters. */
export function normalizeName(name: string, type: EntityType): string {
  const key = nameTokens(name, type).join(' ');
  if (key === '') return unnamedEntityName;
  if (key.length <= maxNameLength) return key;
  const rest = createHash('sha256').update(key).digest('hex').slice(0, 16);
  return `${key.slice(0, maxNameLength - 17).toWellFormed()} ${rest}`;
}

// A person's name parsed into given names, surname and generation, or a single word that may be any of them or a
// handle.

export interface PersonName {
  /** Words or initials, first name first; empty for a single word. */
  readonly given: readonly string[];
  /** With its particles: `van der berg`. Null for a single word. */
  readonly surname: string | null;
  /** Set when the name is a single word. */
  readonly single: string | null;
  readonly generation: string | null;
}

/** Names repeat within a chunk, and parsing one costs ten times as much as comparing it. */
const maxCached = 5_000;
const cache = new Map<string, PersonName | null>();

/** Null when nothing remains after normalization. */
export function parsePersonName(name: string): PersonName | null {
  const known = cache.get(name);
  if (known !== undefined) return known;
  if (cache.size >= maxCached) cache.clear();
  const read = splitPersonName(name);
  cache.set(name, read);
  return read;
}

function splitPersonName(name: string): PersonName | null {
  const tokens = nameTokens(name, 'person');
  const last = tokens.at(-1) ?? '';
  // "Ann Senior" may be a surname; "Smith Jr." is not.
  // A letter with a period ("Ann Maria V.") is an initial.
  const isSuffix =
    (tokens.length > 2 || (tokens.length === 2 && last.length <= 3 && last.length > 1)) &&
    !(last === 'v' && name.trimEnd().endsWith('.'));
  const lastGeneration = isSuffix ? generations.get(last) : undefined;
  const isArticle = lastGeneration !== undefined && tokens.at(-2) === 'the';
  const words = lastGeneration === undefined ? tokens : tokens.slice(0, isArticle ? -2 : -1);
  const generation = lastGeneration ?? null;
  const [only, ...more] = words;
  if (only === undefined) return null;
  if (more.length === 0) return { given: [], surname: null, single: only, generation };
  let start = words.length - 1;
  while (start > 1 && particles.has(words[start - 1] ?? '')) start--;
  return { given: words.slice(0, start), surname: words.slice(start).join(' '), single: null, generation };
}

/** Forms of the name in addresses and handles: bsmith, bobsmith, bobs, smithb, smithbob. */
export function handleForms({ given, surname }: PersonName): readonly string[] {
  const first = given[0] ?? '';
  const last = (surname ?? '').replaceAll(' ', '');
  if (first === '' || last === '') return [];
  const initial = first.slice(0, 1);
  return [...new Set([initial + last, first + last, first + last.slice(0, 1), last + initial, last + first])];
}

export const isInitial = (word: string): boolean => /^.$/u.test(word);

/** A given name and a surname, both in full, also in an address or handle. */
export function isFullName(name: string): boolean {
  const person = parsePersonName(name);
  return person !== null && person.surname !== null && !isInitial(person.given[0] ?? '');
}

/** How informative a name is: full name over initials over single word over address. */
export function nameFullness(name: string): number {
  const person = parsePersonName(name);
  if (!person) return 0;
  if (name.includes('@')) return 1;
  if (person.single !== null) return 2;
  return person.given.every(isInitial) ? 3 : 4;
}

// Word lists for names: titles, legal forms, generic nouns, nicknames.

const words = (text: string): ReadonlySet<string> => new Set(text.split(/\s+/).filter(Boolean));

/** Titles before a person's name. */
export const titles: ReadonlySet<string> = words(
  `mr mrs ms miss mx dr doctor prof professor sir dame lady lord rev hon herr frau mme monsieur madame
  senor senora signor signora sister brother father mother`,
);

/** The gender that a form of address states. */
const addressedAs: ReadonlyMap<string, 'male' | 'female'> = new Map([
  ...[...words('mr mister sir lord herr monsieur senor signor brother father')].map(
    (word) => [word, 'male'] as const,
  ),
  ...[...words('mrs ms miss dame lady madam frau mme mlle madame senora signora sister mother')].map(
    (word) => [word, 'female'] as const,
  ),
]);

/** The gender stated by the form of address that the text starts with; null without one. */
export const statedGender = (text: string): 'male' | 'female' | null =>
  addressedAs.get(plainWords(text.slice(0, 20)).split(' ', 1)[0] ?? '') ?? null;

/** Degrees after a person's name; not distinctive. */
export const degrees: ReadonlySet<string> = words('phd md msc bsc mba esq cpa dds');

/** Suffixes after a person's name that distinguish father and son. */
export const generations: ReadonlyMap<string, string> = new Map(
  ['jr junior', 'sr senior', 'ii 2nd second', 'iii 3rd third', 'iv 4th fourth', 'v 5th fifth'].flatMap(
    (forms) => {
      const [generation = '', ...others] = forms.split(' ');
      return [generation, ...others].map((form) => [form, generation] as const);
    },
  ),
);

/** Particles are part of the surname that follows. */
export const particles: ReadonlySet<string> = words(
  'van von der den de da di du la le del della dos bin ibn al el ter ten st',
);

/** Legal forms of companies, each mapped to its canonical form. */
export const companyForms: ReadonlyMap<string, string> = new Map([
  ...[
    ...words(
      'inc corp co ltd llc llp lp plc gmbh ag kg se sa sas sarl srl spa bv nv ab as oy aps pty pvt kk',
    ),
  ].map((form) => [form, form] as const),
  ['incorporated', 'inc'],
  ['corporation', 'corp'],
  ['company', 'co'],
  ['limited', 'ltd'],
]);

/** Legal forms used interchangeably for the same company. */
export const interchangeableForms: ReadonlySet<string> = new Set(['inc', 'corp', 'co']);

/**
 * What a project or product is, rather than its name, each mapped to its kind: a sales report is not a sales team. Words
 * of places are not among them: Mexico City is not Mexico.
 */
export const genericNouns: ReadonlyMap<string, string> = new Map(
  Object.entries({
    project: 'project program programme initiative effort',
    system: 'system platform app application service tool',
    dashboard: 'dashboard',
    report: 'report',
    team: 'team',
    document: 'document doc',
  }).flatMap(([kind, nouns]) => nouns.split(' ').map((noun) => [noun, kind] as const)),
);

const contrastingWords = [
  'north south east west northern southern eastern western northeast northwest southeast southwest central',
  'new old',
  'upper lower middle',
  'inner outer',
  'internal external',
  'left right',
  'inbound outbound',
  'incoming outgoing',
  'first second third fourth fifth',
  'spring summer autumn fall winter',
  'january february march april may june july august september october november december',
  'monday tuesday wednesday thursday friday saturday sunday',
  'day night morning evening',
  'men women boys girls male female',
  'junior senior',
  'major minor',
  'greater lesser',
  'public private',
  'pre post',
  'alpha beta gamma delta',
].map((group) => group.split(' '));

/** Words by which the names of otherwise similar things differ, each with the number of its group. */
export const contrasts: ReadonlyMap<string, number> = new Map(
  contrastingWords.flatMap((group, index) => group.map((word) => [word, index] as const)),
);

/** Mailboxes shared by several people. */
export const sharedMailboxes: ReadonlySet<string> = words(`
  info contact team support sales hello admin office help service noreply no-reply donotreply marketing
  press jobs hr billing all everyone`);

/** Domains of mailbox providers, which do not identify an employer. Those of several countries are listed by name. */
export const mailProviders: ReadonlySet<string> = words(`
  gmail.com googlemail.com icloud.com me.com mac.com web.de mail.ru qq.com 163.com proton.me protonmail.com
  fastmail.com example.com example.org yahoo outlook hotmail live msn aol gmx yandex zoho`);

// Common English short forms of given names, compiled manually; deliberately few.

/** Each given name with its short forms. */
const shortForms = `
  abigail abby gail / abraham abe / albert al bert bertie / alexander alex al sandy xander /
  alexandra alex sandra sasha / alfred alf fred / andrew andy drew / anthony tony / antonia toni /
  arthur art artie / barbara barb babs / benjamin ben benny benji / bernard bernie / bradley brad /
  caroline carrie caro / cassandra cassie sandra / catherine cathy cath cat kate / charles charlie chuck chas /
  charlotte lottie charlie / christina chris tina christy / christine chris tina christy chrissy /
  christopher chris kit topher / clifford cliff / daniel dan danny / danielle dani / david dave davy /
  deborah deb debbie / dominic dom nick / donald don donnie / dorothy dot dottie dolly / douglas doug /
  edward ed eddie ted teddy ned / eleanor ellie nell nora / elizabeth liz lizzie beth betty eliza libby betsy /
  emily em emmy / eugene gene / frances fran franny / francis frank fran / franklin frank / frederick fred freddie /
  gabriel gabe / gabriella gabby ella / geoffrey geoff jeff / gerald gerry jerry / gregory greg / harold harry hal /
  henry harry hank / isabella bella izzy / jacob jake / jacqueline jackie / james jim jimmy jamie / janet jan /
  jeffrey jeff / jennifer jen jenny / jeremy jerry jem / jessica jess jessie / john jack johnny /
  jonathan jon jonny / joseph joe joey / josephine jo josie / joshua josh / judith judy / julia jules /
  katherine kate kathy katie kat kit kathie / kathleen kathy katie kate / kenneth ken kenny / kimberly kim /
  lawrence larry / leonard len lenny leo / leslie les / louis lou / louise lou / lucille lucy / madeline maddie /
  margaret maggie meg peggy marge margie greta / martin marty / martha marty / mary molly polly /
  matthew matt matty / matilda tilly / maxwell max / maximilian max / megan meg / melissa mel missy /
  michael mike mick mickey mikey / mitchell mitch / nancy nan / natalie nat / nathan nate nat / nathaniel nate nat /
  nicholas nick nicky / nicole nicky nikki / oliver ollie / olivia liv livvy / oscar ozzy / pamela pam /
  patricia pat patty trish tricia / patrick pat paddy rick / peter pete / philip phil / phillip phil / rachel rach /
  raymond ray / rebecca becky becca / reginald reg reggie / richard rick dick rich ricky richie /
  robert bob rob bobby robbie bert / roberta bobbie / roderick rod rick / rodney rod / roger rog /
  ronald ron ronnie / rosemary rose rosie / russell russ / samantha sam sammy / samuel sam sammy / sarah sally /
  solomon sol / stanley stan / stephanie steph / stephen steve / steven steve / stuart stu / susan sue susie /
  susanna sue susie / suzanne sue suzie / terence terry / theresa terry tess tessa / theodore ted theo teddy /
  thomas tom tommy / timothy tim timmy / valerie val / veronica ronnie vera / victor vic / victoria vicky tori vic /
  vincent vince vinny / virginia ginny ginger / walter walt wally / wilhelmina mina billie /
  william bill will billy willy liam / winifred winnie / zachary zach zack`;

const rootsByForm = new Map<string, string[]>();
for (const entry of shortForms.split('/')) {
  const [name = '', ...forms] = entry.trim().split(' ');
  for (const form of [name, ...forms]) rootsByForm.set(form, [...(rootsByForm.get(form) ?? []), name]);
}

/** The full given names it may abbreviate, itself included. */
export const givenNameRoots = (given: string): readonly string[] => {
  const roots = rootsByForm.get(given) ?? [];
  return roots.includes(given) ? roots : [given, ...roots];
};

/** Spellings of one name, which are one root of a short form. */
const respelled: ReadonlyMap<string, string> = new Map([
  ['steven', 'stephen'],
  ['phillip', 'philip'],
  ['catherine', 'katherine'],
  ['geoffrey', 'jeffrey'],
  ['christina', 'christine'],
]);

/** Sam may be Samuel or Samantha: that one of the two names is a short form does not make them the same. */
export function isAmbiguousShortForm(a: string, b: string): boolean {
  if (a === b) return false;
  const rootsOf = (given: string) =>
    new Set((rootsByForm.get(given) ?? [given]).map((root) => respelled.get(root) ?? root));
  return rootsOf(a).size > 1 || rootsOf(b).size > 1;
}

/** Short forms that many people have as their only given name. */
const independentNames: ReadonlySet<string> = words(
  `jack liam molly polly rose sally harry leo max theo ella eliza nora bella greta tessa vera lucy sandra sasha`,
);

/** Jack and John, Molly and Mary: one of the two may be a short form, or they are two people. */
export const isIndependentName = (a: string, b: string): boolean =>
  a !== b && (independentNames.has(a) || independentNames.has(b));

/** Bob and Robert, Bob and Rob; not Alexander and Alexandra, which only share a short form. */
export function areSameGivenName(a: string, b: string): boolean {
  if (a === b) return true;
  const own = givenNameRoots(a);
  const others = givenNameRoots(b);
  return own.some((root) => others.includes(root));
}
