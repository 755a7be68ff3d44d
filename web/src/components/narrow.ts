// Whether the viewport is as narrow as a phone or a tablet beside the navigation: tables then show fewer columns and put the
// rest below.
import { useMediaQuery } from '@mantine/hooks';

export const useIsNarrow = (): boolean =>
  useMediaQuery('(max-width: 60em)', false, { getInitialValueInEffect: false });
