// Numbers on the command line that are no configuration options.
import { InvalidArgumentError } from 'commander';

/** For commander: a whole number in the range, or a clear refusal. */
export function wholeNumber(min: number, max: number): (text: string) => number {
  return (text) => {
    const value = /^\d{1,15}$/.test(text) ? Number(text) : Number.NaN;
    if (!(value >= min && value <= max))
      throw new InvalidArgumentError(`It must be a whole number from ${min} to ${max}.`);
    return value;
  };
}
