import { describeSourceContract } from '../support/extraction/source.contract.ts';
import { lookerWorld } from './looker-source-world.ts';

describeSourceContract('Looker, in memory', () => lookerWorld(false));
describeSourceContract('Looker, over HTTP', () => lookerWorld(true));
