// Bodies are held in memory until they are stored: so many bytes of all requests together, and no more.
import { DeploymentError } from '../../tenancy/index.ts';

const retryAfterMs = 2_000;

/** What one request holds, until it is disposed of. `take` fails with DEPLOYMENT_UPLOADS_FULL. */
export interface UploadShare extends Disposable {
  take(bytes: number): void;
}

export class UploadMemory {
  readonly #maxBytes: number;
  #held = 0;

  constructor(maxBytes: number) {
    this.#maxBytes = maxBytes;
  }

  /** Bytes that are held now. */
  get held(): number {
    return this.#held;
  }

  /**
   * For a body of so many bytes; 0 when it does not say. Nothing is set aside for it: one that announces much and
   * sends little keeps nobody out. Fails with DEPLOYMENT_UPLOADS_FULL, before anything is read.
   */
  open(announcedBytes: number): UploadShare {
    this.#check(Math.max(announcedBytes, 1));
    let taken = 0;
    return {
      take: (bytes) => {
        this.#check(bytes);
        taken += bytes;
        this.#held += bytes;
      },
      [Symbol.dispose]: () => {
        this.#held -= taken;
        taken = 0;
      },
    };
  }

  #check(bytes: number): void {
    if (this.#held + bytes <= this.#maxBytes) return;
    throw new DeploymentError(
      'DEPLOYMENT_UPLOADS_FULL',
      'As much is being uploaded at the moment as this server holds. Please try again in a few moments.',
      { isRetryable: true, retryAfterMs },
    );
  }
}
