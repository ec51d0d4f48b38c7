type FetchOptions = RequestInit & { readonly headers: Readonly<Record<string, string>> };

const proxyNames = ['http_proxy', 'https_proxy', 'HTTP_PROXY', 'HTTPS_PROXY'];

/** One client for the process, so connections are reused. */
let throughProxy: Promise<(url: string, options: FetchOptions) => Promise<Response>> | undefined;

/**
 * Node's own `fetch` supports no proxies before Node 24. If `HTTP_PROXY` or `HTTPS_PROXY` is set, undici's fetch is
 * used, which honours them and `NO_PROXY`. It is installed under another name: the types of OpenAI's and Anthropic's
 * clients include those of a package named undici if there is one, and these need @types/node.
 */
export async function fetchThroughProxy(url: string, options: FetchOptions): Promise<Response> {
  if (!proxyNames.some((name) => (process.env[name] ?? '') !== '')) return fetch(url, options);
  throughProxy ??= openProxy();
  return (await throughProxy)(url, options);
}

async function openProxy(): Promise<(url: string, options: FetchOptions) => Promise<Response>> {
  const { EnvHttpProxyAgent, fetch: fetchWith } = await import('undici-for-proxies');
  const dispatcher = new EnvHttpProxyAgent();
  return async (url, options) =>
    (await fetchWith(url, { ...options, dispatcher } as Parameters<typeof fetchWith>[1])) as unknown as Response;
}
