// How each coding agent is installed and started without a terminal, with its settings in a home folder of its own.
import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';

export interface AgentSetting {
  /** An empty home folder. */
  readonly home: string;
  /** The folder it works in. */
  readonly folder: string;
  /** Of the gateway, without /v1. */
  readonly url: string;
  readonly key: string;
  /** As callers name it. */
  readonly model: string;
  readonly prompt: string;
}

export interface AgentCommand {
  readonly bin: string;
  readonly args: readonly string[];
  readonly env: Readonly<Record<string, string>>;
}

export interface CodingAgent {
  readonly name: string;
  /** The API it uses. */
  readonly api: 'chat' | 'responses' | 'messages';
  readonly start: (setting: AgentSetting) => Promise<AgentCommand>;
}

/** Versions that were tried here. */
export const packages = ['@openai/codex@0.166.0', 'opencode-ai@1.18.33', '@qwen-code/qwen-code@0.15.10'];

async function write(path: string, text: string): Promise<void> {
  await mkdir(join(path, '..'), { recursive: true });
  await writeFile(path, text);
}

const codex: CodingAgent = {
  name: 'Codex CLI',
  api: 'responses',
  start: async ({ home, folder, url, key, model, prompt }) => {
    await write(
      join(home, '.codex/config.toml'),
      `model = "${model}"
model_provider = "headworks"
web_search = "disabled"

[model_providers.headworks]
name = "Headworks"
base_url = "${url}/v1"
env_key = "HEADWORKS_KEY"
wire_api = "responses"
`,
    );
    const args = ['exec', '--skip-git-repo-check', '-s', 'danger-full-access', '-C', folder, prompt];
    return { bin: 'codex', args, env: { CODEX_HOME: join(home, '.codex'), HEADWORKS_KEY: key } };
  },
};

const openCode = (api: 'messages' | 'chat'): CodingAgent => ({
  name: `opencode, ${api === 'messages' ? 'Anthropic' : 'OpenAI-compatible'} provider`,
  api,
  start: async ({ home, url, key, model, prompt }) => {
    const npm = api === 'messages' ? '@ai-sdk/anthropic' : '@ai-sdk/openai-compatible';
    const provider = {
      npm,
      name: 'Headworks',
      options: { baseURL: `${url}/v1`, apiKey: key },
      models: { [model]: { name: model, tool_call: true, limit: { context: 200_000, output: 8_000 } } },
    };
    await write(
      join(home, '.config/opencode/opencode.json'),
      JSON.stringify({
        $schema: 'https://opencode.ai/config.json',
        provider: { headworks: provider },
        model: `headworks/${model}`,
        small_model: `headworks/${model}`,
        share: 'disabled',
        autoupdate: false,
        permission: { edit: 'allow', bash: 'allow' },
      }),
    );
    return { bin: 'opencode', args: ['run', prompt], env: { OPENCODE_DISABLE_AUTOUPDATE: '1' } };
  },
});

const qwen: CodingAgent = {
  name: 'Qwen Code',
  api: 'chat',
  start: async ({ url, key, model, prompt }) => ({
    bin: 'qwen',
    args: ['--yolo', '-p', prompt],
    env: { OPENAI_API_KEY: key, OPENAI_BASE_URL: `${url}/v1`, OPENAI_MODEL: model },
  }),
};

export const agents: readonly CodingAgent[] = [codex, openCode('messages'), openCode('chat'), qwen];
