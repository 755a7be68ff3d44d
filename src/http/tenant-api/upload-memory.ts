// Bounds the memory of all bodies that are being received; they are held until they are stored.
import { DeploymentError } from '../../tenancy/index.ts';

const retryAfterMs = 2_000;

/** The memory of one request until its disposal. `take` fails with DEPLOYMENT_UPLOADS_FULL. */
export interface UploadShare extends Disposable {
  take(bytes: number): void;
}

export class UploadMemory {
  readonly #maxBytes: number;
  #held = 0;

  constructor(maxBytes: number) {
    this.#maxBytes = maxBytes;
  }

  /** Bytes in use. */
  get held(): number {
    return this.#held;
  }

  /**
   * For a body of this declared size; 0 when it is not declared. Nothing is reserved: a request that declares much and
   * sends little does not keep others out. Fails with DEPLOYMENT_UPLOADS_FULL before anything is read.
   */
  open(declaredBytes: number): UploadShare {
    this.#check(Math.max(declaredBytes, 1));
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
      'The memory for uploads of this server is exhausted. Please try again in a few moments.',
      { isRetryable: true, retryAfterMs },
    );
  }
}
