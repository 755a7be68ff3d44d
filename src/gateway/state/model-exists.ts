// What both kinds of store say to a name that is taken.
import { GatewayError } from '../errors.ts';

export const modelExists = (name: string): GatewayError =>
  new GatewayError('GATEWAY_MODEL_EXISTS', `There is a model named ${name} already. Choose another name.`, {
    details: { name },
  });
