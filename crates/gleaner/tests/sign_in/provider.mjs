// An OpenID Connect provider on loopback, with its own pages to sign in. It prints its issuer, and ends with its standard input.
//
// OIDC_PROVIDER names the directory of the package. Whoever signs in as sub-NAME has that subject, and NAME as
// preferred_username. POST /test/remove-client makes the provider forget its client.
import { createServer } from 'node:http';
import { pathToFileURL } from 'node:url';

// Nobody reads on after the issuer: what the provider has to say of its development pages must not end it.
process.stdout.on('error', () => {});

const root = process.env.OIDC_PROVIDER;
const { default: Provider } = await import(pathToFileURL(`${root}/lib/index.js`));
const { default: Memory } = await import(pathToFileURL(`${root}/lib/adapters/memory_adapter.js`));

const client = {
  client_id: 'gleaner',
  client_secret: 'a secret between the two of them',
  redirect_uris: ['http://gleaner.example/login/oidc/callback'],
  grant_types: ['authorization_code'],
  response_types: ['code'],
};
let clients = new Map([[client.client_id, client]]);

class Adapter extends Memory {
  constructor(model) {
    super(model);
    this.isClients = model === 'Client';
  }

  async find(id) {
    return this.isClients ? clients.get(id) : super.find(id);
  }
}

const server = createServer();
server.listen(0, '127.0.0.1', () => {
  const issuer = `http://127.0.0.1:${server.address().port}`;
  const provider = new Provider(issuer, {
    adapter: Adapter,
    claims: { openid: ['sub'], profile: ['preferred_username'] },
    cookies: { keys: ['for a test'] },
    findAccount: (_, id) => ({
      accountId: id,
      claims: () => ({ sub: id, preferred_username: id.replace(/^sub-/, '') }),
    }),
    pkce: { required: () => true },
  });
  const answer = provider.callback();
  server.on('request', (request, response) => {
    if (request.method === 'POST' && request.url === '/test/remove-client') {
      clients = new Map();
      response.end();
    } else {
      answer(request, response);
    }
  });
  console.log(issuer);
});
process.stdin.on('end', () => process.exit(0)).resume();
