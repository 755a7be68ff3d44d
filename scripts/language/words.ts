// Words that the repository does not use, and what to write instead. `npm run check` rejects them.
// Extend the list when a private word or a British spelling turns up; give every exception a reason.

export interface Term {
  /** Matched without regard to case, in prose and in the words of identifiers (`readWish` is "read wish"). */
  readonly pattern: string;
  readonly instead: string;
}

export interface Exception {
  /** A glob of paths. */
  readonly files: string;
  /** The words allowed there, as they are matched; all if absent. */
  readonly words?: readonly string[];
  readonly reason: string;
}

/** Private dialect: the left column of the glossary. */
export const dialect: readonly Term[] = [
  { pattern: '(?<!help )desks?', instead: 'service' },
  { pattern: 'houses?', instead: 'app, server' },
  { pattern: 'doors?', instead: 'deployment API, endpoint, request validation' },
  { pattern: 'wish(?:es|ed)?', instead: 'request, input' },
  { pattern: 'spoken|speaks?|spoke|speaking', instead: 'complete, send, respond' },
  { pattern: 'hears?|heard|hearing', instead: 'receive' },
  { pattern: 'landscape', instead: 'snapshot' },
  { pattern: 'resting', instead: 'backoff' },
  { pattern: 'patience|patiently|patient', instead: 'timeout' },
  { pattern: 'caretakers?|settlers?|pullers?|keepers?', instead: 'maintenance, completer, poller, manager' },
  { pattern: 'under ?way', instead: 'in flight, running' },
  { pattern: 'let in|turned away', instead: 'admitted, rejected' },
  { pattern: 'left alone|leaves? (?:it|them|one) alone', instead: 'cooling down' },
  { pattern: '(?:is|are|was|were|be|been|being|when) (?:asked|told)', instead: 'is called, is notified' },
  { pattern: 'answers in', instead: 'latency, responds within' },
  { pattern: 'tells|knows?|knew', instead: 'contains, reports, supports: programs neither know nor tell' },
  { pattern: 'forgets?|forgot|forgotten|forgetting', instead: 'delete, drop, reset' },
  { pattern: 'remember(?:s|ed|ing)?', instead: 'cache, store, keep' },
  { pattern: 'wants', instead: 'needs, requests, requires' },
  { pattern: 'talks? to|talking to', instead: 'calls, uses' },
  { pattern: 'goes on|go on|going on', instead: 'continues, running' },
  { pattern: 'the way of', instead: 'request flow, data flow' },
  { pattern: 'let go|give(?:s|n)? back|gave back', instead: 'detach, refund' },
  { pattern: 'look(?:s|ed)? again|embed again|why anew', instead: 'backfill, reembed, explain' },
  { pattern: 'hears itself|leads elsewhere|all at once', instead: 'round trip, endpoint changed, together' },
  { pattern: 'in vain|cut short|held until', instead: 'canceled, hit the deadline, blocked until' },
  { pattern: 'in room', instead: 'plugin, scope' },
  { pattern: 'nobody|somebody|whoever|whomever', instead: 'no one in particular: name the caller' },
  { pattern: 'anew', instead: 'again' },
  { pattern: 'mend(?:s|ed|ing|ings)?', instead: 'fix' },
  { pattern: 'strangers?', instead: 'unauthenticated caller, new user' },
  { pattern: 'for ever', instead: 'forever, without a limit' },
  { pattern: 'gravest|ails|tallies|stood in|stands in', instead: 'a plain word' },
  { pattern: 'chapters?', instead: 'step' },
  { pattern: 'sittings?', instead: 'session' },
  { pattern: 'payers?', instead: 'billing caller' },
  {
    pattern: 'foreign(?! keys?| tables?)',
    instead: 'cross-origin, of another organization, of another program',
  },
  { pattern: 'answer(?:s|ed)?(?: with)? \\d{3}', instead: 'responds with, is rejected with' },
  { pattern: 'answered with', instead: 'rejected with, responded with' },
];

/** Identifiers only: these endings name nothing that a reader knows. */
export const dialectSuffixes: readonly Term[] = [
  { pattern: '[A-Z]\\w*Parts', instead: '…Deps, …Options' },
  { pattern: '[A-Z]\\w*Help', instead: '…Deps' },
  { pattern: '[A-Z]\\w*(?:Board|Books)', instead: '…Registry, …Cache, …Ledger' },
  { pattern: '[A-Z]\\w*Answer', instead: '…Response' },
];

/** Names in code only, whole identifiers: in prose these are ordinary words. */
export const dialectNames: readonly Term[] = [
  { pattern: 'Ask|readAsk', instead: 'CompletionRequest, parseRequest' },
  { pattern: 'Standing', instead: 'CandidateState' },
  { pattern: 'hold|leave', instead: 'renew, add, permit, exit' },
  { pattern: '[A-Z]\\w*Watch', instead: '…Monitor' },
  { pattern: 'told|looks', instead: 'notified, visits' },
  { pattern: 'ask|asks|asked|asking', instead: 'send, requests, pending' },
  { pattern: 'say|says|said', instead: 'print, message, output' },
  { pattern: 'within|inTime|whenVaultIsFree', instead: 'withTimeout, timeoutSignal, waitForLock' },
  { pattern: 'Parts|Help', instead: '…Deps, …Options' },
  { pattern: 'columnsBut|textWithin|pdfWithin|rememberMs', instead: 'a noun with its unit' },
  { pattern: 'Folded|Decided|redefined', instead: 'a noun: FoldedText, DecisionPayload, changedTypes' },
  { pattern: 'placesIn|pointsOf|pairShare|isOfDocument', instead: 'what it returns or weighs' },
  { pattern: 'onCutOff|cutOff', instead: 'onForcedClose, truncated' },
  { pattern: 'isWanted|isCalm|isGone', instead: 'isEnabled, isExpected, isMissing, hasEnded' },
  { pattern: 'also', instead: 'aliases' },
  { pattern: 'executing|jobsWaiting|jobs_waiting', instead: 'running, queued: the standard state words' },
];

/** British spelling, with the American form. */
export const british: readonly Term[] = [
  { pattern: '(?:re|dis)?colou?r(?:s|ed|ing|ful)?(?<=our\\w*)', instead: 'color' },
  { pattern: '(?:mis)?behaviours?|behavioural', instead: 'behavior' },
  {
    pattern: 'favour\\w*|honour\\w*|labour\\w*|neighbour\\w*|flavour\\w*|harbour\\w*|rumour\\w*',
    instead: '-or',
  },
  {
    pattern: 'organis\\w+|recognis\\w+|initialis\\w+|normalis\\w+|serialis\\w+|deserialis\\w+',
    instead: '-ize',
  },
  { pattern: 'optimis(?:e|ed|es|ing|ation)\\w*|summaris\\w+|categoris\\w+|prioritis\\w+', instead: '-ize' },
  {
    pattern:
      'synchronis\\w+|authoris\\w+|customis\\w+|minimis(?:e|ed|es|ing|ation)|maximis(?:e|ed|es|ing|ation)|utilis\\w+',
    instead: '-ize',
  },
  { pattern: 'memoris\\w+|tokenis\\w+|finalis\\w+|standardis\\w+|realis(?:e|ed|es|ing)', instead: '-ize' },
  { pattern: 'analys(?:e|ed|es|ing)(?<!analyses)|paralys(?:e|ed)', instead: '-yze' },
  {
    pattern: 'cancelled|cancelling|labelled|labelling|modelled|modelling|travelled|travelling',
    instead: 'one l',
  },
  { pattern: 'signalled|signalling|totalled|levelled|fuelled|marshalled', instead: 'one l' },
  { pattern: 'centre[ds]?|metres?|litres?|theatres?|fibres?', instead: '-er' },
  { pattern: 'catalogues?|dialogues?|analogues?', instead: 'catalog' },
  { pattern: 'grey(?:s|ed)?', instead: 'gray, uncertain' },
  { pattern: 'licences?|defences?|offences?|pretences?', instead: '-se' },
  {
    pattern: 'programmes?|cheques?|artefacts?|judgements?|acknowledgements?|whilst|learnt|spelt',
    instead: 'American form',
  },
  {
    pattern: 'practise[ds]?|sceptic\\w*|plough\\w*|tyres?|storeys?|ageing|moulds?',
    instead: 'American form',
  },
];

export const exceptions: readonly Exception[] = [
  {
    files:
      '{src/extraction,src/simulators/looker,src/operations/demo,test/extraction,test/simulators,test/support,test/knowledge}/**',
    words: ['looks'],
    reason: 'a content type of Looker',
  },
  {
    files: 'src/cli/commands/{extract,ingest-vault,simulate,type-pace}.test.ts',
    words: ['looks'],
    reason: 'a content type of Looker',
  },
  { files: 'src/resilience/retry-hints.test.ts', words: ['help'], reason: 'a type of google.rpc' },
  { files: 'scripts/language/**', reason: 'the list itself, and its test' },
  { files: 'CHANGELOG.md', reason: 'names what things were called before 0.2.0' },
  { files: 'docs/internals/test-names.md', reason: 'names what tests were called before 0.2.0' },
  { files: 'LICENSE', reason: 'the text of the license' },
  { files: '**/package-lock.json', reason: 'names of packages' },
  {
    files:
      'src/knowledge/{text/lexicon,entities/normalize,reading/parse-answer,documents/headers,documents/json}.ts',
    words: [
      'wants',
      'programme',
      'organise',
      'organiser',
      'organisation',
      'centre',
      'desk',
      'patience',
      'speak',
      'spoke',
      'spoken',
      'heard',
      'tells',
    ],
    reason: 'words of documents that the rules recognize, and keys that models use',
  },
  {
    files: 'src/knowledge/{reading/rules/names,entities/string-distance.test,reading/rules/names.test}.ts',
    words: ['house', 'sitting', 'spoke', 'desk'],
    reason: 'words of documents that the rules recognize, and sample texts',
  },
  {
    files:
      '{src/knowledge/reading/{model-reader,rules-reader.test},bench/evaluation/collections.test,test/knowledge/knowledge-resolution.test}.ts',
    words: ['knows', 'tells'],
    reason: 'the prompt for a model, whose document a person wrote, and sample texts',
  },
  {
    files: 'src/operations/demo/documents/**',
    words: ['know', 'wants', 'talk to'],
    reason: 'mails and notes of people',
  },
  {
    files: 'src/simulators/models/document-reader.ts',
    words: ['wants'],
    reason: 'words of documents that the simulated model recognizes',
  },
  {
    files: 'src/mcp/knowledge-tools.ts',
    words: ['wants'],
    reason: 'what a user wants, in a text for a model',
  },
  { files: 'test/knowledge/knowledge-lexical-suite.ts', words: ['knew'], reason: 'a sample text' },
  {
    files: 'src/mcp/{server,stdio.test}.ts',
    words: ['cancelled'],
    reason: "a notification's name in the MCP protocol",
  },
  {
    files: '{scripts/services/server-user,test/support/without-rights}.ts',
    words: ['nobody'],
    reason: 'the name of a system user',
  },
  {
    files: 'scripts/regexes.json',
    words: ['speak', 'spoke', 'spoken', 'heard'],
    reason: 'regular expressions for words of documents that the rules recognize',
  },
  { files: 'src/platform/jobs/statements.ts', words: ['cancelled'], reason: "pg-boss's name of the state" },
];
