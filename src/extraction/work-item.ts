// The WorkItem of document 001: one fetched page between the fetchers and the worker threads.
//
// It has no `is_final_batch`: pages arrive in any order, and the planner decides when a type has ended.
import type { RawPage } from './types.ts';

/** The states of document 001, which says `processing` where the rest says `running`. */
export type WorkItemState = 'created' | 'queued' | 'processing' | 'completed' | 'failed';

/** created → queued → processing → completed | failed; a page whose thread died goes from processing to queued again. */
const allowed: Readonly<Record<WorkItemState, readonly WorkItemState[]>> = {
  created: ['queued'],
  queued: ['processing'],
  processing: ['queued', 'completed', 'failed'],
  completed: [],
  failed: [],
};

export interface WorkItemFields {
  /** The type's name; must be one of `knownTypes`. */
  readonly contentType: string;
  /** The response; must not be empty. */
  readonly page: RawPage;
  /** Counts the pages of a run from 0. */
  readonly batchNumber: number;
}

/** Throws RangeError naming the invalid field and value. */
export class WorkItem {
  readonly contentType: string;
  readonly page: RawPage;
  readonly batchNumber: number;
  /** Worker threads that died while processing it. */
  deaths = 0;
  #state: WorkItemState = 'created';

  constructor(fields: WorkItemFields, knownTypes: ReadonlySet<string>) {
    const { contentType, page, batchNumber } = fields;
    if (!knownTypes.has(contentType))
      throw new RangeError(`contentType must be one of ${[...knownTypes].join(', ')}, not "${contentType}"`);
    if (page.bytes.byteLength === 0) throw new RangeError('page must not be empty');
    if (!(Number.isInteger(batchNumber) && batchNumber >= 0))
      throw new RangeError(`batchNumber must be a whole number from 0, not ${batchNumber}`);
    this.contentType = contentType;
    this.page = page;
    this.batchNumber = batchNumber;
  }

  get state(): WorkItemState {
    return this.#state;
  }

  /** Throws RangeError for a transition that is not allowed. */
  become(next: WorkItemState): void {
    if (!allowed[this.#state].includes(next))
      throw new RangeError(`batch ${this.batchNumber} cannot go from ${this.#state} to ${next}`);
    this.#state = next;
  }
}
