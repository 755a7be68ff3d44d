// Word lists for names: titles, legal forms, generic nouns, nicknames.

const words = (text: string): ReadonlySet<string> => new Set(text.split(/\s+/).filter(Boolean));

/** Before a person's name. */
export const titles: ReadonlySet<string> = words(
  'mr mrs ms miss mx dr doctor prof professor sir dame lady lord rev hon herr frau mme monsieur madame',
);

/** After a person's name; not distinctive. */
export const degrees: ReadonlySet<string> = words('phd md msc bsc mba esq cpa dds');

/** After a person's name; distinguishes father and son. */
export const generations: ReadonlyMap<string, string> = new Map(
  Object.entries({ jr: 'jr', junior: 'jr', sr: 'sr', senior: 'sr', ii: 'ii', iii: 'iii', iv: 'iv' }),
);

/** Part of the surname that follows. */
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

/** What a project, product or place is, rather than its name. */
export const genericNouns: ReadonlySet<string> = words(`
  the a an project program programme initiative effort system platform app application service tool
  dashboard report team document doc city town of`);

/** Mailboxes shared by several people. */
export const sharedMailboxes: ReadonlySet<string> = words(`
  info contact team support sales hello admin office help service noreply no-reply donotreply marketing
  press jobs hr billing all everyone`);

/** Email domains that do not identify an employer. */
export const publicMailDomains: ReadonlySet<string> = words(`
  gmail.com googlemail.com outlook.com hotmail.com live.com yahoo.com icloud.com me.com aol.com gmx.de
  gmx.net web.de proton.me protonmail.com example.com example.org`);

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

/** Bob and Robert, Bob and Rob; not Alexander and Alexandra, which only share a short form. */
export function areSameGivenName(a: string, b: string): boolean {
  if (a === b) return true;
  const own = givenNameRoots(a);
  const others = givenNameRoots(b);
  return own.some((root) => others.includes(root));
}
