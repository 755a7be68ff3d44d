// Whether the viewport is as narrow as a phone: tables then show fewer columns and put the rest below.
import { useMediaQuery } from '@mantine/hooks';

/** Same breakpoint as the navigation. */
export const useIsNarrow = (): boolean =>
  useMediaQuery('(max-width: 48em)', false, { getInitialValueInEffect: false });
