/** The program of {@link startEmbedder}'s process. */
import { openSession } from '../../src/compose/models.js';
import { runEmbedder } from '../../src/processes/embedderProcess.js';
import { systemClock } from '../../src/system/clock.js';

runEmbedder({ openSession, clock: systemClock });
