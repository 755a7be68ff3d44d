// The answers of our HTTP API, for the command line: it talks to servers, but does not import http.
export type {
  DoctorAnswer,
  ExtractionRunAnswer,
  ExtractionRunReport,
  ExtractionRunsAnswer,
  ExtractionRunStarted,
  ExtractionSourceAnswer,
  ExtractionSourcesAnswer,
  JobAnswer,
  JobCountsAnswer,
  JobsAnswer,
  LedgerEntryAnswer,
  LedgerPage,
  RepairAnswer,
  StreamedEventData,
} from '../http/contract.ts';
