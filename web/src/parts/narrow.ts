// Whether the page is as narrow as a phone: tables then show few columns, and the rest in small words below.
import { useMediaQuery } from '@mantine/hooks';

/** Where the menu folds, too. */
export const useIsNarrow = (): boolean =>
  useMediaQuery('(max-width: 48em)', false, { getInitialValueInEffect: false });
