// Color for a used share of a limit.
import { toneColor } from '../../theme.ts';

export const fullness = (percent: number): string =>
  toneColor[percent >= 100 ? 'bad' : percent >= 80 ? 'warning' : 'good'];
