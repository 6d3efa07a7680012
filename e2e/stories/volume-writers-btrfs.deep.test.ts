import { tellOfWriters } from './volume-writers.contract.js';

await tellOfWriters('btrfs');
