import { describeSourceContract } from '../support/extraction/source.contract.ts';
import { restWorld } from './rest-source-world.ts';

describeSourceContract('a REST source, in memory', () => restWorld(false));
describeSourceContract('a REST source, over HTTP', () => restWorld(true));
