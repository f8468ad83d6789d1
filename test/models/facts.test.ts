/** What is read out of the files of sentence-transformers' models. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { readFacts, type FactTexts, type GivenFacts } from '../../src/models/facts.js';

const bert = JSON.stringify({ hidden_size: 768, max_position_embeddings: 512, model_type: 'bert' });
const cls = JSON.stringify({
  word_embedding_dimension: 768,
  pooling_mode_cls_token: true,
  pooling_mode_mean_tokens: false,
});
const plain: FactTexts = { 'config.json': bert, '1_Pooling/config.json': cls };

function facts(texts: FactTexts, id = 'x', given: GivenFacts = {}) {
  const read = readFacts(texts, id, given);
  if ('wrong' in read) assert.fail(read.wrong);
  return read.facts;
}

function wrong(texts: FactTexts): string {
  const read = readFacts(texts, 'x', {});
  return 'wrong' in read ? read.wrong : '';
}

const expected = { dimension: 768, pooling: 'cls', max_tokens: 512, query_prefix: '', document_prefix: '' };

describe('the facts of a model', () => {
  test('are read from its files', () => {
    assert.deepEqual(facts(plain), expected);
    const mean = JSON.stringify({ pooling_mode_mean_tokens: true });
    assert.deepEqual(facts({ ...plain, '1_Pooling/config.json': mean }), { ...expected, pooling: 'mean' });
    assert.deepEqual(facts({ ...plain, '1_Pooling/config.json': '{"pooling_mode":"mean"}' }), {
      ...expected,
      pooling: 'mean',
    });
    assert.deepEqual(facts({ ...plain, 'sentence_bert_config.json': '{"max_seq_length":384}' }), {
      ...expected,
      max_tokens: 384,
    });
    assert.deepEqual(facts({ ...plain, 'sentence_bert_config.json': '{"max_seq_length":9000}' }), expected);
  });

  test('do not count positions that no token gets', () => {
    const roberta = JSON.stringify({
      hidden_size: 768,
      max_position_embeddings: 514,
      model_type: 'xlm-roberta',
    });
    assert.deepEqual(facts({ ...plain, 'config.json': roberta }), expected);
  });

  test('have prefixes from its prompts, from its makers, or from the operator', () => {
    const prompts = JSON.stringify({ prompts: { query: 'query: ', passage: 'passage: ' } });
    const texts = { ...plain, 'config_sentence_transformers.json': prompts };
    assert.deepEqual(facts(texts), { ...expected, query_prefix: 'query: ', document_prefix: 'passage: ' });
    assert.deepEqual(facts(plain, 'bge-base-en-v1.5'), {
      ...expected,
      query_prefix: 'Represent this sentence for searching relevant passages: ',
    });
    assert.deepEqual(facts(texts, 'bge-base-en-v1.5', { queryPrefix: '', documentPrefix: 'd ' }), {
      ...expected,
      document_prefix: 'd ',
    });
  });

  test('may come from the operator', () => {
    assert.deepEqual(facts({ 'config.json': '{"hidden_size":8}' }, 'x', { pooling: 'mean', maxTokens: 64 }), {
      ...expected,
      dimension: 8,
      pooling: 'mean',
      max_tokens: 64,
    });
  });

  test('that are missing or unsupported are reported', () => {
    assert.match(wrong({}), /has no config\.json/);
    assert.match(wrong({ ...plain, 'config.json': 'not JSON' }), /hidden_size/);
    for (const pooling of [
      '{"pooling_mode_max_tokens":true}',
      '{"pooling_mode_mean_tokens":true,"pooling_mode_max_tokens":true}',
      '{}',
    ]) {
      assert.match(wrong({ ...plain, '1_Pooling/config.json': pooling }), /neither mean nor cls/);
    }
    assert.match(wrong({ ...plain, 'config.json': '{"hidden_size":8}' }), /how many tokens/);
    const types = ['Transformer', 'Pooling', 'Dense', 'Normalize'];
    const modules = types.map((type) => ({ type: `sentence_transformers.models.${type}` }));
    assert.match(
      wrong({ ...plain, 'modules.json': JSON.stringify(modules) }),
      /does not run: .*models\.Dense\./,
    );
    const fine = JSON.stringify(modules.filter(({ type }) => !type.endsWith('Dense')));
    assert.deepEqual(facts({ ...plain, 'modules.json': fine }), expected);
  });
});
